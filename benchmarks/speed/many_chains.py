"""Chain-steps per second of 256 vectorised chains over one chain's."""

from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.speed.logistic import BATCH, gradient, model, simulate
from benchmarks.speed.loops import Step, langevin, rows_of
from benchmarks.speed.parts import Measured, Part
from benchmarks.speed.ratios import Bar, median_ratio, medians
from benchmarks.speed.report import run
from benchmarks.speed.sides import by_hand, through_mcmc
from benchmarks.speed.timing import Side, seconds_a_step
from numpyro_sgmcmc import SGLD, SharedMinibatch

CHAINS = 256
ROWS, COLUMNS = 100_000, 20
STEP_SIZE = 0.1 / ROWS
FEWER, MORE = 200, 1_000


def independent() -> Step:
    """Return a hand-written step of all chains, each with its own minibatch."""
    alone = langevin(STEP_SIZE, BATCH)

    def step(key: jax.Array, weights: Any, features: jax.Array, response: jax.Array) -> Any:
        keys = jax.random.split(key, CHAINS)
        return jax.vmap(alone, in_axes=(0, 0, None, None))(keys, weights, features, response)

    return step


def shared() -> Step:
    """Return a hand-written step of all chains on one minibatch."""

    def step(key: jax.Array, weights: Any, features: jax.Array, response: jax.Array) -> Any:
        key_noise, key_rows = jax.random.split(key)
        x, y = rows_of(key_rows, features, response, BATCH)
        of_all = jax.vmap(gradient, in_axes=(0, None, None, None))
        force = of_all(weights, x, y, len(features) / BATCH)
        noise = jax.random.normal(key_noise, weights.shape)
        return weights - STEP_SIZE * force + jnp.sqrt(2 * STEP_SIZE) * noise

    return step


@cache
def costs(rounds: int) -> dict[str, list[float]]:
    """Return the seconds of a chain's step of all sides, measured together."""
    data = simulate(ROWS, COLUMNS)
    chains: dict[str, Any] = {"num_chains": CHAINS, "chain_method": "vectorized"}
    sides = {
        "one": through_mcmc(SGLD(model, STEP_SIZE), data),
        "one by hand": by_hand(langevin(STEP_SIZE, BATCH), data),
    }
    for name, options, hand in (
        ("independent", {}, independent()),
        ("shared", {"minibatch": SharedMinibatch()}, shared()),
    ):
        kernel = SGLD(model, STEP_SIZE, **options)
        sides[name] = _of_all(through_mcmc(kernel, data, FEWER, MORE, **chains))
        sides[f"{name} by hand"] = _of_all(by_hand(hand, data, _for_all, FEWER, MORE))
    return seconds_a_step(sides, rounds)


def gain(name: str, rounds: int) -> Measured:
    """Return the chain-steps a second of all chains over those of one, also by hand."""
    found = costs(rounds)
    rates = {name: 1 / cost for name, cost in medians(found).items()}
    by_a_user = median_ratio(found["one by hand"], found[f"{name} by hand"])
    shown = f"{rates[name]:,.0f} against {rates['one']:,.0f} chain-steps/s"
    shown += f"; hand-written loops gain {by_a_user:.1f} x"
    ratio = median_ratio(found["one"], found[name])
    return Measured(ratio, shown, {"chain_steps_a_second": rates, "gain_by_hand": by_a_user})


def _of_all(side: Side) -> Side:
    return side._replace(steps=side.steps * CHAINS)


def _for_all(weights: jax.Array) -> jax.Array:
    return jnp.broadcast_to(weights, (CHAINS, *weights.shape))


PARTS = (
    Part(
        f"{CHAINS} chains over one, each with its own minibatch",
        Bar(4.0, at_least=True),
        partial(gain, "independent"),
        "loops by hand gain less on two cores",
    ),
    Part(
        f"{CHAINS} chains over one, sharing their minibatch",
        Bar(20.0, at_least=True),
        partial(gain, "shared"),
        "loops by hand miss it too; ours also computes U, for the draw and to refuse bad steps",
    ),
)

if __name__ == "__main__":
    run("many_chains", PARTS)
