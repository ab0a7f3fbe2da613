"""A step of SGLD on the network of figure 8 over optax's SGD, by precision of products."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import optax

from benchmarks.speed.loops import rows_of
from benchmarks.speed.network import BATCH, STEP_SIZE, STEPS, loss, model, simulate, start
from benchmarks.speed.ratios import median_ratio, medians
from benchmarks.speed.timing import Run, Side, seconds_a_step
from numpyro_sgmcmc import SGLD

DRAWS = 100
PRECISIONS = {"all digits": "highest", "TF32": "tensorfloat32"}
KINDS = {
    "normal increments": ("threefry2x32", "normal"),
    "normal increments, `rbg` keys": ("rbg", "normal"),
    "binomial increments": ("threefry2x32", "binomial"),
}
SGD = "optax's SGD"

Loop = Callable[[Any, int], Any]


def ours(data: tuple, implementation: str, increments: str) -> tuple[Any, Loop]:
    """Return a first state, and a loop of draws of SGLD."""
    kernel = SGLD(model, STEP_SIZE, num_steps=STEPS, increments=increments)
    first = kernel.init(jax.random.key(0, impl=implementation), 0, start(), data, {})

    @jax.jit
    def loop(state: Any, draws: int, data: tuple) -> Any:
        return jax.lax.fori_loop(0, draws, lambda _, s: kernel.sample(s, data, {}), state)

    return first, lambda state, draws: loop(state, draws, data)


def theirs(data: tuple) -> tuple[Any, Loop]:
    """Return a first state, and a loop of as many steps of SGD."""
    optimiser = optax.sgd(STEP_SIZE)

    def step(carry: tuple, _: None, data: tuple) -> tuple:
        key, weights, state = carry
        key, key_rows = jax.random.split(key)
        slope = jax.grad(loss)(weights, *rows_of(key_rows, *data, BATCH))
        updates, state = optimiser.update(slope, state)
        return (key, optax.apply_updates(weights, updates), state), None

    @jax.jit
    def loop(state: tuple, draws: int, data: tuple) -> tuple:
        several = lambda _, s: jax.lax.scan(partial(step, data=data), s, None, STEPS)[0]  # noqa: E731
        return jax.lax.fori_loop(0, draws, several, state)

    first = jax.random.key(0), start(), optimiser.init(start())
    return first, lambda state, draws: loop(state, draws, data)


def side(made: Callable[[], tuple[Any, Loop]], precision: str, draws: int) -> Side:
    """Return runs at a precision of products."""
    with jax.default_matmul_precision(precision):
        first, loop = made()

    def run_of(count: int) -> Run:
        def once() -> Any:
            with jax.default_matmul_precision(precision):
                return jax.block_until_ready(loop(first, count))

        return once

    return Side(run_of(1), run_of(1 + draws), draws * STEPS)


def measured(rounds: int, draws: int = DRAWS) -> list[dict[str, Any]]:
    """Return microseconds of a step of all sides, and ours over SGD at the same precision."""
    data = simulate()
    sides: dict[tuple[str, str], Side] = {}
    for name, precision in PRECISIONS.items():
        sides[SGD, name] = side(partial(theirs, data), precision, draws)
        for kind, given in KINDS.items():
            sides[kind, name] = side(partial(ours, data, *given), precision, draws)
    names = {" at ".join(key): key for key in sides}
    found = seconds_a_step({name: sides[key] for name, key in names.items()}, rounds)
    costs = {names[name]: cost for name, cost in found.items()}
    us = {names[name]: 1e6 * cost for name, cost in medians(found).items()}
    return [
        {
            "side": kind,
            "precision": precision,
            "us": us[kind, precision],
            "ratio": median_ratio(costs[kind, precision], costs[SGD, precision]),
            "ratio_to_tf32": median_ratio(costs[kind, precision], costs[SGD, "TF32"]),
        }
        for kind, precision in sides
    ]
