"""Cost of a step of `MCMC(SGLD(model, step_size=h))` against a hand-written `lax.scan`.

Both sides draw B rows with `randint`, gather them, take the gradient of the same logistic
regression, and keep every draw. A step costs what a long run takes more than a short one, over the
steps that it has more: what a run costs once (dispatch, a copy of the data) drops out. Runs
alternate between the sides; ratios are taken round by round, and their medians reported. NumPyro
compiles its collecting loop anew at each `run`; JAX reports how long it compiles, and that is taken
off on both sides. Prints one line for each figure and writes `benchmarks/results/step_cost.json`.
"""

import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC

from numpyro_sgmcmc import SGLD

DIMENSION = 54
BATCH = 100
SHORT, LONG = 10_000, 110_000
ROUNDS = 11
SIZES = (10_000, 1_000_000)

compiling: list[float] = []


def _note_compilation(event: str, seconds: float, **_: object) -> None:
    if event.startswith("/jax/core/compile/"):
        compiling.append(seconds)


def model(features: jax.Array, response: jax.Array) -> None:
    """Logistic regression with a subsampled plate."""
    rows, columns = features.shape
    weights = numpyro.sample("weights", dist.Normal(0.0, 1.0).expand([columns]).to_event(1))
    with numpyro.plate("rows", rows, subsample_size=BATCH) as index:
        logits = features[index] @ weights
        numpyro.sample("response", dist.Bernoulli(logits=logits), obs=response[index])


def by_hand(step_size: float, steps: int) -> Callable:
    """Return the loop that a user would write: (key, weights, features, response) -> draws."""

    def potential(weights: jax.Array, x: jax.Array, y: jax.Array, scale: float) -> jax.Array:
        logits = x @ weights
        log_likelihood = jnp.sum(y * logits - jax.nn.softplus(logits))
        return 0.5 * jnp.sum(weights**2) - scale * log_likelihood

    @jax.jit
    def run(key: jax.Array, weights: jax.Array, features: jax.Array, response: jax.Array) -> tuple:
        rows = features.shape[0]

        def step(carry: tuple, _: None) -> tuple:
            key, weights = carry
            key, key_noise, key_rows = jax.random.split(key, 3)
            index = jax.random.randint(key_rows, (BATCH,), 0, rows)
            gradient = jax.grad(potential)(weights, features[index], response[index], rows / BATCH)
            noise = jax.random.normal(key_noise, weights.shape)
            weights = weights - step_size * gradient + jnp.sqrt(2 * step_size) * noise
            return (key, weights), weights

        return jax.lax.scan(step, (key, weights), None, length=steps)

    return run


def simulate(rows: int) -> tuple[jax.Array, jax.Array]:
    """Return features and a binary response."""
    key_x, key_w, key_y = jax.random.split(jax.random.key(0), 3)
    features = jax.random.normal(key_x, (rows, DIMENSION))
    logits = features @ jax.random.normal(key_w, (DIMENSION,)) / DIMENSION**0.5
    return features, jax.random.bernoulli(key_y, jax.nn.sigmoid(logits)).astype(jnp.float32)


def through_mcmc(features: jax.Array, response: jax.Array, steps: int) -> Callable[[], None]:
    """Return a run of MCMC with its default arguments."""
    kernel = SGLD(model, 0.1 / len(features))
    mcmc = MCMC(kernel, num_warmup=0, num_samples=steps, progress_bar=False)
    mcmc.warmup(jax.random.key(1), features, response)

    def run() -> None:
        mcmc.run(jax.random.key(2), features, response)
        jax.block_until_ready(mcmc.last_state)

    return run


def through_scan(features: jax.Array, response: jax.Array, steps: int) -> Callable[[], None]:
    """Return a run of the hand-written loop."""
    loop = by_hand(0.1 / len(features), steps)
    start = jnp.zeros(DIMENSION)
    return lambda: jax.block_until_ready(loop(jax.random.key(2), start, features, response))


def seconds(run: Callable[[], None]) -> float:
    """Return the wall time of a run without its compilation."""
    compiling.clear()
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin - sum(compiling)


def main() -> None:
    """Measure, print and write the figures."""
    jax.monitoring.register_event_duration_secs_listener(_note_compilation)
    pairs = []
    for rows in SIZES:
        data = simulate(rows)
        for side in (through_mcmc, through_scan):
            pairs.append((side(*data, SHORT), side(*data, LONG)))
    for short, long in pairs:
        short()
        long()
    rounds = []
    for number in range(ROUNDS):
        order = pairs if number % 2 else pairs[::-1]
        costs = [(-seconds(short) + seconds(long)) / (LONG - SHORT) for short, long in order]
        rounds.append(costs if number % 2 else costs[::-1])
    small, large = ([round_[i] / round_[i + 1] for round_ in rounds] for i in (0, 2))
    ratios = [statistics.median(small), statistics.median(large)]
    growth = statistics.median(b / a for a, b in zip(small, large, strict=True))
    medians = [1e6 * statistics.median(costs) for costs in zip(*rounds, strict=True)]
    for rows, ours, theirs, ratio in zip(SIZES, medians[::2], medians[1::2], ratios, strict=True):
        print(
            f"SGLD step, N={rows:,}: {ours:.1f} us through MCMC, {theirs:.1f} us by hand,"
            f" ratio {ratio:.2f} (bar 1.15)"
        )
    print(f"growth with N over a hand-written loop's: {growth:.2f} (bar 1.10)")
    figures = {
        "steps": LONG - SHORT,
        "rounds": ROUNDS,
        "us_per_step": {
            str(rows): {"mcmc": ours, "by_hand": theirs}
            for rows, ours, theirs in zip(SIZES, medians[::2], medians[1::2], strict=True)
        },
        "ratio_to_hand_written": dict(zip(map(str, SIZES), ratios, strict=True)),
        "growth_over_growth": growth,
        "machine": f"{platform.machine()}, {jax.devices()[0].device_kind}, {os.cpu_count()} cores",
        "versions": {"jax": jax.__version__, "numpyro": numpyro.__version__},
    }
    path = Path(__file__).parent / "results" / "step_cost.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
