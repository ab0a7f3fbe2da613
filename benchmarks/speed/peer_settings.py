"""Settings of NUTS and HMCECS tried for figure 5: `python -m benchmarks.speed.peer_settings`.

Writes `benchmarks/results/speed/peer_settings.csv`, a row for each setting. The data are figure 5's
with fewer rows: where a posterior is nearly Gaussian, the effective draws that a gradient buys
depend on the number of parameters, not on that of rows. Vectorised chains take as many gradients as
the chain that takes most.
"""

import csv
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
from numpyro.infer import MCMC

from benchmarks.speed.conditioned import mixing
from benchmarks.speed.effective_run import TARGET, judged
from benchmarks.speed.effective_sides import Length, Settings, Subsample, hmcecs, nuts
from benchmarks.speed.logistic import DIMENSION, Data, simulate
from benchmarks.speed.newton import laplace
from benchmarks.speed.report import RESULTS
from benchmarks.speed.timing import seconds

PATH = RESULTS / "peer_settings.csv"
ROWS = {"NUTS": 10_000, "HMCECS": 100_000}
DRAWS = {"NUTS": 300, "HMCECS": 1_000}
ADAPTED = [(Settings(known=False, depth=10), warmup) for warmup in (100, 200, 400, 800, 1_600)]
KEPT = [(Settings(), warmup) for warmup in (150, 200, 400, 100, 50, 19)]
DEPTHS = [(Settings(depth=depth), 150) for depth in (1, 2, 4, 10)]
ACCEPTANCE = [(Settings(accept=accept), 150) for accept in (0.6, 0.7, 0.9)]
SUBSAMPLES = [Subsample(30), Subsample(), Subsample(100, 100), Subsample(100, 1), Subsample(300)]


def trial(name: str, data: Data, warmup: int, settings: Settings, subsample: Subsample) -> dict:
    """Return a row of the table."""
    length = Length(warmup, DRAWS[name])
    if name == "NUTS":
        mcmc, field = nuts(data, length, settings), "num_steps"
    else:
        mcmc, field = hmcecs(data, length, settings, subsample), "hmc_state.num_steps"
    mcmc.warmup(jax.random.key(0), *data, extra_fields=(field,), collect_warmup=True)
    before = _gradients(mcmc, field)
    fields = (field, field.replace("num_steps", "accept_prob"), "accept_prob")
    key = jax.random.key(1)
    took = seconds(lambda: mcmc.run(key, *data, extra_fields=fields) or mcmc.last_state)
    mode, covariance = map(np.asarray, laplace(*data))
    exact = {"mean": mode, "sd": np.sqrt(np.diag(covariance))}
    found = judged(np.asarray(mcmc.get_samples(group_by_chain=True)["weights"]), exact)
    gradients = _gradients(mcmc, field)
    sampled = mcmc.get_extra_fields()
    row: dict[str, Any] = {"sampler": name, "warmup": warmup, **settings._asdict()}
    row |= subsample._asdict() if name == "HMCECS" else dict.fromkeys(Subsample._fields, "")
    row |= {
        "step_size": float(np.mean(_adapted(mcmc).step_size)),
        "acceptance": float(np.mean(sampled[fields[1]])),
        "block_acceptance": float(np.mean(sampled["accept_prob"])) if name == "HMCECS" else "",
        "warmup_gradients": before,
        "gradients": gradients,
        "ess": found["ess"],
        "ess_a_gradient": found["ess"] / gradients,
        "gradients_to_400": before + TARGET * gradients / found["ess"],
        "us_a_gradient": 1e6 * took / gradients,
    }
    return {key: round(x, 4) if isinstance(x, float) else x for key, x in row.items()}


def _gradients(mcmc: MCMC, field: str) -> int:
    """Return the gradients that the slowest chain of each transition takes, summed."""
    return int(np.asarray(mcmc.get_extra_fields(group_by_chain=True)[field]).max(0).sum())


def _adapted(mcmc: MCMC) -> Any:
    state: Any = mcmc.last_state
    return getattr(state, "hmc_state", state).adapt_state


def trials() -> Any:
    """Yield the arguments of every trial but the data."""
    for settings, warmup in (*KEPT, *ACCEPTANCE, *DEPTHS, *ADAPTED):
        yield "NUTS", warmup, settings, Subsample()
    for subsample in SUBSAMPLES:
        yield "HMCECS", 150, Settings(chains=1), subsample


def main(path: Path = PATH) -> None:
    """Run every trial and write the table, row by row."""
    data = {name: simulate(rows, DIMENSION, mixing()) for name, rows in ROWS.items()}
    with path.open("w", encoding="utf-8", newline="") as file:
        writer: csv.DictWriter | None = None
        for name, warmup, settings, subsample in trials():
            row = trial(name, data[name], warmup, settings, subsample)
            if writer is None:
                writer = csv.DictWriter(file, list(row), lineterminator="\n")
                writer.writeheader()
            writer.writerow(row)
            file.flush()
            print(row, flush=True)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
