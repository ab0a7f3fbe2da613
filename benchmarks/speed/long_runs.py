"""`sg.run` beside `mcmc.run`: time, memory, compilations, and what a folder costs."""

import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax
from numpyro.infer import MCMC

from benchmarks.speed.child import answer
from benchmarks.speed.kept_draws_run import PARAMETERS
from benchmarks.speed.logistic import ROWS, Data, model, simulate
from benchmarks.speed.parts import Measured, Part
from benchmarks.speed.progress_bar import NUM_STEPS, driven_bar
from benchmarks.speed.ratios import Bar
from benchmarks.speed.report import environment, run
from benchmarks.speed.timing import compilations, covered, stretches
from numpyro_sgmcmc import SGLD
from numpyro_sgmcmc import run as driven
from numpyro_sgmcmc.driving.on_disk import DrawsOnDisk

STEP_SIZE = 0.1 / ROWS
EVERY = 60.0
FEW, MANY = 10, 1_010
KEPT = (MANY - FEW) * PARAMETERS * 4


def again(rounds: int) -> Measured:
    """Return the programs that a second run compiles."""
    del rounds
    data = simulate(10_000, 10)
    mcmc = MCMC(SGLD(model, STEP_SIZE), num_warmup=0, num_samples=100, jit_model_args=True)
    keys = jax.block_until_ready([jax.random.key(0), jax.random.key(1)])

    def fit(key: jax.Array) -> Any:
        driven(mcmc, key, *data, progress_bar=False)
        return mcmc.get_samples(), mcmc.last_state

    compilations(lambda: fit(keys[0]))
    return Measured(compilations(lambda: fit(keys[1])), "", {})


def commits(rounds: int) -> Measured:
    """Return the share of 60 s that a commit takes."""
    data, found = simulate(), []
    commit = DrawsOnDisk.commit

    def timed(self: DrawsOnDisk, *words: Any) -> None:
        begin = time.perf_counter()
        commit(self, *words)
        found.append(time.perf_counter() - begin)

    DrawsOnDisk.commit = timed
    try:
        in_folder(data, 2_000 * rounds, every=0.2)
    finally:
        DrawsOnDisk.commit = commit
    seconds = statistics.median(found)
    return Measured(seconds / EVERY, f"{1_000 * seconds:.3g} ms", {"seconds": found})


def resuming(rounds: int) -> Measured:
    """Return the seconds that a finished run of another process takes to be resumed.

    Another kernel object and another `MCMC` stand for the other process. Compilation is taken off.
    """
    data, found = simulate(), []
    with tempfile.TemporaryDirectory() as folder:
        in_folder(data, 1_000, folder=folder)
        for turn in range(rounds):
            events = stretches()
            events.clear()
            begin = time.perf_counter()
            in_folder(data, 1_001 + turn, folder=folder)
            end = time.perf_counter()
            found.append(end - begin - covered(events, begin, end))
    return Measured(statistics.median(found), "", {"seconds": found})


def in_folder(data: Data, draws: int, folder: str | None = None, every: float = EVERY) -> None:
    """Run `SGLD` in a folder."""
    with tempfile.TemporaryDirectory() as own:
        mcmc = MCMC(SGLD(model, STEP_SIZE), num_warmup=0, num_samples=draws, progress_bar=False)
        place = Path(folder or own) / "run"
        driven(mcmc, jax.random.key(0), *data, folder=place, every=every)


def growth(rounds: int) -> Measured:
    """Return the growth of the peak of memory over the bytes that are kept, without a folder."""
    found = []
    for _ in range(min(rounds, 1)):
        few, many = (
            answer("kept_draws_run", str(draws), "driven", environment=environment())
            for draws in (FEW, MANY)
        )
        found.append((many["peak"] - few["peak"]) / KEPT)
    shown = f"{found[0] * KEPT / 1e6:,.0f} MB for {KEPT / 1e6:,.0f} MB of draws"
    return Measured(statistics.median(found), shown, {"rounds": found})


def flatness(rounds: int) -> Measured:
    """Return the peak of memory of 10⁶ draws in a folder over that of 10⁴."""
    del rounds
    few, many = (
        answer("folder_run", str(draws), environment=environment())["peak"]
        for draws in (10**4, 10**6)
    )
    shown = f"{many / 1e6:,.0f} against {few / 1e6:,.0f} MB, 240 MB of draws"
    return Measured(many / few, shown, {"few": few, "many": many})


def part(what: str, bar: Bar, measure: Callable[[int], Measured], reason: str = "") -> Part:
    """Return a part of this figure."""
    return Part(what, bar, measure, reason)


PARTS = (
    part(
        f"`sg.run` with its bar over `mcmc.run` without one, `num_steps={NUM_STEPS}`",
        Bar(1.02),
        partial(driven_bar, NUM_STEPS),
    ),
    part(
        "the same with `num_steps=1`",
        Bar(1.02),
        partial(driven_bar, 1),
        "the host copies a draw and reads its statistics in 1 to 2 µs, while the device computes",
    ),
    part(f"a commit over {EVERY:.0f} s", Bar(0.02), commits),
    part("reopening and resuming, compilation taken off", Bar(2.0, "s"), resuming),
    part("programs that a second `sg.run` compiles", Bar(0.0, "programs"), again),
    part(f"memory of {MANY - FEW:,} draws of {PARAMETERS:,} parameters", Bar(1.1), growth),
    part("memory of 10⁶ draws in a folder over 10⁴", Bar(1.1), flatness),
)

if __name__ == "__main__":
    run("long_runs", PARTS)
