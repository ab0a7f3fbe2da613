"""Steps of other kernels against hand-written loops, and of `SGLD` and `SGHMC` against BlackJAX.

BlackJAX's `sghmc` draws a momentum at each call and then takes ten gradients of one minibatch,
where ours draws a minibatch for each. Two comparisons therefore: a minibatch that moves the
position once (theirs then takes two gradients, the second of which moves nothing), and ten
gradients a draw.
"""

from collections.abc import Callable
from functools import cache, partial
from importlib.util import find_spec

import jax.numpy as jnp

from benchmarks.speed.logistic import BATCH, DIMENSION, ROWS, Data, gradient, model, simulate
from benchmarks.speed.loops import fixed_point, splitting
from benchmarks.speed.parts import Measured, NotMeasured, Part
from benchmarks.speed.ratios import Bar, median_ratio, medians
from benchmarks.speed.report import run
from benchmarks.speed.sides import FEWER, STEPS, against, by_hand, microseconds, through_mcmc
from benchmarks.speed.timing import Side, seconds_a_step
from numpyro_sgmcmc import SGHMC, SGLD, SGLDFP, SGHMCSplit

STEP_SIZE = 0.1 / ROWS
LEAP = 1e-4
FRICTION = 1_000.0
LEAPS = 10

Pair = dict[str, Side]
data_once = cache(simulate)


def split_pair(data: Data) -> Pair:
    """Return the splitting's two sides."""
    start = lambda weights: (weights, jnp.zeros_like(weights))  # noqa: E731
    return {
        "ours": through_mcmc(SGHMCSplit(model, LEAP, friction=FRICTION), data),
        "theirs": by_hand(splitting(LEAP, BATCH, FRICTION), data, start),
    }


def fixed_point_pair(data: Data) -> Pair:
    """Return the fixed point's two sides, both with an anchor at zero."""
    anchor = jnp.zeros(DIMENSION)
    loop = fixed_point(STEP_SIZE, BATCH, anchor, gradient(anchor, *data, 1.0))
    return {
        "ours": through_mcmc(SGLDFP(model, STEP_SIZE, anchor={"weights": anchor}), data),
        "theirs": by_hand(loop, data),
    }


def langevin_pair(data: Data) -> Pair:
    """Return our SGLD and BlackJAX's."""
    from benchmarks.speed import blackjax_loops

    return {
        "ours": through_mcmc(SGLD(model, STEP_SIZE), data),
        "theirs": by_hand(blackjax_loops.langevin(STEP_SIZE, BATCH, ROWS), data),
    }


def hamiltonian_pair(gradients: int, leaps: int, data: Data) -> Pair:
    """Return our SGHMC with some gradients a draw, and BlackJAX's with some a minibatch."""
    from benchmarks.speed import blackjax_loops

    short, more = FEWER // gradients, STEPS // gradients
    step = blackjax_loops.hamiltonian(LEAP, BATCH, ROWS, FRICTION, leaps)

    kernel = SGHMC(model, LEAP, friction=FRICTION, num_steps=gradients)
    return {
        "ours": through_mcmc(kernel, data, short, more)._replace(steps=more),
        "theirs": by_hand(step, data, short=short, more=more),
    }


def compared(sides: Callable[[Data], Pair], needs: str, rounds: int) -> Measured:
    """Return our side over theirs."""
    if needs and find_spec(needs) is None:
        raise NotMeasured(f"{needs} is not installed; `make bench` installs it")
    found = seconds_a_step(sides(data_once()), rounds)
    us = microseconds(medians(found))
    ratio = median_ratio(found["ours"], found["theirs"])
    return Measured(ratio, against(us["ours"], us["theirs"]), {"us_a_step": us})


COLLECTING = "NumPyro's loop collects a draw with its energy and flag: 2.5 µs"
PARTS = (
    Part(
        "step of `SGHMCSplit` over a hand-written scan",
        Bar(1.1),
        partial(compared, split_pair, ""),
        COLLECTING,
    ),
    Part(
        "step of `SGLDFP` over a hand-written scan",
        Bar(1.1),
        partial(compared, fixed_point_pair, ""),
        COLLECTING,
    ),
    Part(
        "step of `SGLD` over BlackJAX's `sgld`",
        Bar(1.0),
        partial(compared, langevin_pair, "blackjax"),
        COLLECTING,
    ),
    Part(
        "step of `SGHMC` over BlackJAX's `sghmc`, one minibatch that moves the position once",
        Bar(1.0),
        partial(compared, partial(hamiltonian_pair, 1, 2), "blackjax"),
    ),
    Part(
        "ten steps of `SGHMC` over a call of BlackJAX's `sghmc` with its ten gradients",
        Bar(1.0),
        partial(compared, partial(hamiltonian_pair, LEAPS, LEAPS), "blackjax"),
        "BlackJAX's ten gradients share a minibatch and its noise; ours draws and gathers ten",
    ),
)

if __name__ == "__main__":
    run("step_others", PARTS)
