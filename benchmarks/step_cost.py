"""Cost of a step of `MCMC(SGLD(model, step_size=h))` against a hand-written `lax.scan`.

Both sides draw B rows with `randint`, gather them, take the gradient of the same logistic
regression, and keep every draw. Runs alternate between the sides and medians are compared. NumPyro
compiles its collecting loop anew at each `run`; JAX reports how long it compiles, and that is taken
off on both sides. Prints one line for each figure and writes `benchmarks/results/step_cost.json`.
"""

import json
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
STEPS = 20_000
REPEATS = 7
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


def by_hand(step_size: float) -> Callable:
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

        return jax.lax.scan(step, (key, weights), None, length=STEPS)

    return run


def simulate(rows: int) -> tuple[jax.Array, jax.Array]:
    """Return features and a binary response."""
    key_x, key_w, key_y = jax.random.split(jax.random.key(0), 3)
    features = jax.random.normal(key_x, (rows, DIMENSION))
    logits = features @ jax.random.normal(key_w, (DIMENSION,)) / DIMENSION**0.5
    return features, jax.random.bernoulli(key_y, jax.nn.sigmoid(logits)).astype(jnp.float32)


def measure(rows: int) -> tuple[float, float]:
    """Return microseconds a step of ours and of the hand-written loop."""
    features, response = simulate(rows)
    step_size = 0.1 / rows
    mcmc = MCMC(
        SGLD(model, step_size),
        num_warmup=0,
        num_samples=STEPS,
        progress_bar=False,
        jit_model_args=True,
    )
    mcmc.warmup(jax.random.key(1), features, response)
    hand = by_hand(step_size)
    start = jnp.zeros(DIMENSION)

    def ours() -> None:
        mcmc.run(jax.random.key(2), features, response)
        jax.block_until_ready(mcmc.last_state)

    def theirs() -> None:
        jax.block_until_ready(hand(jax.random.key(2), start, features, response))

    times: dict[Callable, list[float]] = {ours: [], theirs: []}
    for side in times:
        side()
    for _ in range(REPEATS):
        for side, measured in times.items():
            compiling.clear()
            begin = time.perf_counter()
            side()
            measured.append(time.perf_counter() - begin - sum(compiling))
    return tuple(1e6 * statistics.median(measured) / STEPS for measured in times.values())


def main() -> None:
    """Measure, print and write the figures."""
    jax.monitoring.register_event_duration_secs_listener(_note_compilation)
    small, large = (measure(rows) for rows in SIZES)
    figures = {
        "us_per_step": {str(n): m for n, m in zip(SIZES, (small, large), strict=True)},
        "ratio_to_hand_written": {
            str(SIZES[0]): small[0] / small[1],
            str(SIZES[1]): large[0] / large[1],
        },
        "growth_over_growth": (large[0] / small[0]) / (large[1] / small[1]),
        "machine": f"{platform.machine()}, {jax.devices()[0].device_kind}",
        "versions": {"jax": jax.__version__, "numpyro": numpyro.__version__},
    }
    for rows, ours, theirs in ((SIZES[0], *small), (SIZES[1], *large)):
        print(
            f"SGLD step, N={rows:,}: {ours:.1f} us through MCMC, {theirs:.1f} us by hand, ratio"
            f" {ours / theirs:.2f} (bar 1.15)"
        )
    print(
        f"growth with N over a hand-written loop's: {figures['growth_over_growth']:.2f} (bar 1.10)"
    )
    path = Path(__file__).parent / "results" / "step_cost.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
