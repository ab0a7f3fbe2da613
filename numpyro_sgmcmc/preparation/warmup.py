"""The warm-up: windows that double, and at the end of each better numbers for the next."""

from collections.abc import Callable
from math import log2
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from numpyro_sgmcmc.cpu import threefry
from numpyro_sgmcmc.gradient import AbstractGradient, Anchor, FixedPoint, Plain
from numpyro_sgmcmc.preconditioner import AbstractLinearMap, Dense, Diagonal
from numpyro_sgmcmc.preparation.approximation import Approximation
from numpyro_sgmcmc.preparation.target import Target, View
from numpyro_sgmcmc.preparation.tuning import Adaptation, Tuned, Wishes, tune
from numpyro_sgmcmc.preparation.windows import DENSE_COVARIANCE, WALKERS, Window, updated

MOST_WINDOWS = 5
SHORTEST_WINDOW = 20
MOST_TRANSITIONS = 20_000
POINTS = 32
"""Positions at which gradient noise is measured."""


class WarmedUp(NamedTuple):
    """What a warm-up ends with.

    Attributes:
        adaptation: the numbers, and why.
        preconditioner: the map that the kernel runs with.
        believed: a Gaussian approximation of the posterior.
        anchor: a point near its centre, with U and grad U there.
    """

    adaptation: Adaptation
    preconditioner: AbstractLinearMap
    believed: Approximation
    anchor: Anchor


def warm_up(
    target: Target,
    key: jax.Array,
    wishes: Wishes,
    believed: Approximation,
    anchor: Anchor,
    transitions: int,
    *,
    preconditioner: AbstractLinearMap | None = None,
    keeps_anchor: bool = False,
) -> WarmedUp:
    """Return the numbers of a kernel after windows of `transitions` in all, by 8 walkers.

    Each window is twice as long as the one before. At its end the anchor moves to the mean of its
    draws, the preconditioner to their covariance, shrunk towards the last one; curvature and
    gradient noise are measured at its draws; step size, friction and correction follow.

    Args:
        target: the model bound to its data.
        key: key of the walkers and measurements.
        wishes: what the user chose.
        believed: where to begin.
        anchor: U and grad U at a point near its centre.
        transitions: length of all windows; too few for a window give none.
        preconditioner: the user's, which stays; None follows the walkers.
        keeps_anchor: whether the anchor is the user's, which stays.
    """
    dimension, temperature = believed.centre.size, wishes.temperature
    is_known = isinstance(believed.spread, Dense)
    if isinstance(believed.spread, Diagonal) and dimension <= DENSE_COVARIANCE:
        believed = believed._replace(spread=Dense(jnp.diag(believed.spread.scale)))
    linear = preconditioner or believed.spread
    key_points, key_tune, key = threefry.keys_of(key, 3)
    draw, name = points_program(temperature)
    points, positions = target.run(draw, believed, key_points, name=name, brief=True)
    caution = 1.0
    lengths = window_lengths(transitions)
    # A model traced as a whole has no numbers to decide by; at T = 0 there is no width to see.
    if isinstance(believed.centre, Tracer) or temperature == 0:
        lengths = []

    def tuned_at(key: jax.Array, points: jax.Array) -> Adaptation:
        slowest = _smallest(believed, linear) if is_known else None
        return tune(target, key, wishes, linear, anchor, points, slowest, caution)

    adaptation = tuned_at(key_tune, points)
    windows = {
        type(one): Window(wishes.dynamics, one, temperature)
        for one in map(stand_in, wishes.gradients)
    }
    for length in lengths:
        key_window, key_tune, key = threefry.keys_of(key, 3)
        window = windows[type(stand_in(adaptation.gradient))]
        numbers = Tuned(adaptation.step_size, adaptation.friction, linear, adaptation.correction)
        seen = window.run(target, key_window, numbers, anchor, believed, positions, length)
        believed, is_known = updated(believed, seen, temperature), True
        linear = preconditioner or believed.spread
        anchor = anchor if keeps_anchor else _moved(target, anchor, believed.centre)
        if float(seen.diverging) > 0:
            caution /= 2
        positions = seen.last
        points = seen.snapshots.reshape(-1, dimension)
        adaptation = tuned_at(key_tune, points)
    adaptation = adaptation._replace(windows=len(lengths))
    return WarmedUp(adaptation, linear, believed, anchor)


def points_program(temperature: float) -> tuple[Callable, Any]:
    """Return what draws the first typical points and the walkers' starts among them, and its name.

    It runs on (believed, key).
    """

    def draw(view: View, believed: Approximation, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        points = believed.draw(key, POINTS, temperature)
        return points, points[:WALKERS]

    return draw, (points_program, temperature)


def stand_in(gradient: AbstractGradient) -> AbstractGradient:
    """Return what a window runs: estimators that follow a walker would pass over the data."""
    return gradient if isinstance(gradient, Plain | FixedPoint) else FixedPoint()


def window_lengths(transitions: int) -> list[int]:
    """Return at most five lengths, each twice the one before, that add up to about so many."""
    transitions = min(transitions, MOST_TRANSITIONS)
    count = min(MOST_WINDOWS, int(log2(transitions / SHORTEST_WINDOW + 1)))
    return [transitions * 2**i // (2**count - 1) for i in range(count)]


def _moved(target: Target, anchor: Anchor, centre: jax.Array) -> Anchor:
    moved = anchor_at(target, centre)
    finite = np.isfinite(moved.potential_energy) and np.all(np.isfinite(moved.gradient))
    return moved if finite else anchor


def anchor_at(target: Target, position: jax.Array) -> Anchor:
    """Return a point with U and grad U of the whole data there."""
    return Anchor(position, *target.run(value_and_grad, position))


def value_and_grad(view: View, position: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return U and grad U of the whole data."""
    return view.value_and_grad(position)


def _smallest(believed: Approximation, linear: AbstractLinearMap) -> jax.Array | None:
    """Return the smallest curvature that is believed in the coordinates of `linear`."""
    if not isinstance(believed.spread, Dense) or isinstance(believed.centre, Tracer):
        return None
    if linear is believed.spread:
        return jnp.ones((), believed.centre.dtype)
    factor = np.asarray(believed.spread.factor, np.float64)
    hessian = jnp.asarray(np.linalg.inv(factor @ factor.T), believed.centre.dtype)
    rows = jax.vmap(linear.transpose)(hessian)
    curvatures = jnp.linalg.eigvalsh(jax.vmap(linear.transpose)(rows.T))
    return jnp.maximum(curvatures[0], jnp.finfo(curvatures.dtype).eps * curvatures[-1])
