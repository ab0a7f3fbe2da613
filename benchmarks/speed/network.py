"""A step of SGLD on a network of 10^6 parameters over the same network's bare optax step."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import optax
from numpyro.infer import MCMC

from benchmarks.speed.child import answer
from benchmarks.speed.loops import rows_of
from benchmarks.speed.parts import Measured, Part
from benchmarks.speed.ratios import Bar, median_ratio, medians
from benchmarks.speed.report import environment, run
from benchmarks.speed.sides import against
from benchmarks.speed.timing import Run, Side, seconds_a_step
from numpyro_sgmcmc import SGLD

ROWS, BATCH = 10_000, 128
SHAPES = {"inner": (64, 968), "middle": (968, 968), "outer": (968, 10)}
PARAMETERS = sum(height * width for height, width in SHAPES.values())
STEP_SIZE = 1e-7
STEPS = 25
"""Of one draw: who keeps a network's parameters keeps few of them."""
DRAWS = 4
KEYS = ("threefry2x32", "rbg")
PROCESSES = 4


def logits_of(weights: dict[str, jax.Array], x: jax.Array) -> jax.Array:
    """Return what the network says of some rows."""
    hidden = jax.nn.relu(x @ weights["inner"])
    return jax.nn.relu(hidden @ weights["middle"]) @ weights["outer"]


def model(features: jax.Array, label: jax.Array) -> None:
    """Softmax regression on a network with normal weights."""
    weights = {
        name: numpyro.sample(name, dist.Normal(0.0, shape[0] ** -0.5).expand(shape).to_event(2))
        for name, shape in SHAPES.items()
    }
    with numpyro.plate("rows", ROWS, subsample_size=BATCH) as index:
        logits = logits_of(weights, features[index])
        numpyro.sample("label", dist.Categorical(logits=logits), obs=label[index])


def loss(weights: dict[str, jax.Array], x: jax.Array, y: jax.Array) -> jax.Array:
    """Return the model's potential by hand."""
    prior = sum(0.5 * SHAPES[name][0] * jnp.sum(w**2) for name, w in weights.items())
    entropy = optax.softmax_cross_entropy_with_integer_labels(logits_of(weights, x), y)
    return prior + ROWS / BATCH * jnp.sum(entropy)


def simulate() -> tuple[jax.Array, jax.Array]:
    """Return features and labels."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((ROWS, SHAPES["inner"][0]), np.float32)
    return jnp.asarray(features), jnp.asarray(rng.integers(0, SHAPES["outer"][1], ROWS))


def start() -> dict[str, jax.Array]:
    """Return weights at which both sides start."""
    rng = np.random.default_rng(1)
    drawn = {name: rng.standard_normal(shape, np.float32) for name, shape in SHAPES.items()}
    return {name: jnp.asarray(w / len(w) ** 0.5) for name, w in drawn.items()}


def ours(data: tuple, implementation: str) -> Side:
    """Return runs of SGLD with keys of an implementation."""

    def run_of(draws: int) -> Run:
        kernel = SGLD(model, STEP_SIZE, num_steps=STEPS)
        mcmc = MCMC(kernel, num_warmup=0, num_samples=draws, progress_bar=False)
        key = jax.random.key(0, impl=implementation)
        mcmc.warmup(key, *data, init_params=start())

        def run() -> Any:
            mcmc.run(key, *data)
            return mcmc.last_state

        return run

    return Side(run_of(1), run_of(1 + DRAWS), DRAWS * STEPS)


def theirs(data: tuple) -> Side:
    """Return runs of a scan of optax's SGD with the same minibatches."""
    optimiser = optax.sgd(STEP_SIZE)

    @partial(jax.jit, static_argnames="steps")
    def scan(weights: Any, features: jax.Array, label: jax.Array, steps: int) -> Any:
        def step(carry: tuple, _: None) -> tuple:
            key, weights, state = carry
            key, key_rows = jax.random.split(key)
            slope = jax.grad(loss)(weights, *rows_of(key_rows, features, label, BATCH))
            updates, state = optimiser.update(slope, state)
            return (key, optax.apply_updates(weights, updates), state), None

        first = (jax.random.key(0), weights, optimiser.init(weights))
        return jax.lax.scan(step, first, None, length=steps)[0]

    def run_of(draws: int) -> Run:
        return lambda: scan(start(), *data, steps=draws * STEPS)

    return Side(run_of(1), run_of(1 + DRAWS), DRAWS * STEPS)


def costs(rounds: int) -> dict[str, list[float]]:
    """Return each side's seconds of a step by round, in this process."""
    data = simulate()
    sides = {name: ours(data, name) for name in KEYS}
    return seconds_a_step(sides | {"optax": theirs(data)}, rounds)


def compared(rounds: int) -> Measured:
    """Return ours over theirs, with the faster keys, over several processes.

    Single processes gave ratios from 1.0 to 1.6 on a busy machine.
    """
    return summary(
        [answer("network_run", str(rounds), environment=environment()) for _ in range(PROCESSES)]
    )


def summary(found: list[dict[str, list[float]]]) -> Measured:
    """Return the median ratio over the rounds of all processes, and how far they are apart."""
    pooled = {side: [cost for one in found for cost in one[side]] for side in found[0]}
    ms = {side: 1e3 * cost for side, cost in medians(pooled).items()}
    ratios = {name: median_ratio(pooled[name], pooled["optax"]) for name in KEYS}
    best = min(ratios, key=lambda name: ratios[name])
    rounds = sorted(a / b for a, b in zip(pooled[best], pooled["optax"], strict=True))
    each = [median_ratio(one[best], one["optax"]) for one in found]
    low, high = (float(np.quantile(rounds, share)) for share in (0.1, 0.9))
    shown = (
        f"{best} keys: {against(ms[best], ms['optax'], 'ms')}; {len(rounds)} alternating rounds in"
        f" {len(each)} processes, eight of ten rounds within {low:.2f} to {high:.2f} x, medians of"
        f" the processes {', '.join(f'{ratio:.2f}' for ratio in sorted(each))} x; "
    )
    shown += ", ".join(f"{name} keys {ratios[name]:.2f} x" for name in KEYS if name != best)
    details = {
        "ms_a_step": ms,
        "ratios": ratios,
        "ratios_of_rounds": rounds,
        "ratios_of_processes": each,
        "parameters": PARAMETERS,
    }
    return Measured(ratios[best], shown, details)


PARTS = (
    Part(
        f"step of `SGLD` on {PARAMETERS:,} parameters, B = {BATCH}, over optax's SGD",
        Bar(1.3),
        compared,
        "on CPU a normal number costs nearly what its parameter's gradient does: 0.8 ns for its"
        " bits, 1.5 ns for the inverse error function; U and its check go over the parameters too",
    ),
)

if __name__ == "__main__":
    run("network", PARTS)
