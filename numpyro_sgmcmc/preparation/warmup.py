"""The warm-up: a sequence of windows, each of which improves the settings for the next."""

from collections.abc import Callable, Sequence
from math import log2
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.gradient import AbstractGradient, Anchor, FixedPoint
from numpyro_sgmcmc.preconditioner import AbstractLinearMap, Dense, Diagonal
from numpyro_sgmcmc.preparation import kinks
from numpyro_sgmcmc.preparation.approximation import Approximation
from numpyro_sgmcmc.preparation.coupling import coupled
from numpyro_sgmcmc.preparation.learning import updated
from numpyro_sgmcmc.preparation.locate import Located, anchor_at, value_and_grad
from numpyro_sgmcmc.preparation.options import Options, without_anchor
from numpyro_sgmcmc.preparation.prepared import Adaptation, Prepared
from numpyro_sgmcmc.preparation.target import Target, View
from numpyro_sgmcmc.preparation.thresholds import (
    DENSE_COVARIANCE,
    MOST_TRANSITIONS,
    MOST_WINDOWS,
    POINTS,
    SHORTEST_WINDOW,
    WALKERS,
)
from numpyro_sgmcmc.preparation.tuning import choose_numbers, noise_program
from numpyro_sgmcmc.preparation.windows import Window
from numpyro_sgmcmc.state import Tuned


def warm_up(
    target: Target,
    key: jax.Array,
    options: Options,
    gradients: Sequence[AbstractGradient],
    located: Located,
    transitions: int,
) -> Prepared:
    """Return what a run starts from, after windows of 8 walkers.

    Each window is twice as long as the one before. After a window, the anchor becomes the mean of
    its draws, and the preconditioner follows from their covariance, shrunk towards the last one.
    Curvature and gradient noise are measured at the draws; step size, friction and correction
    follow from them. An anchor or preconditioner that the user gave is kept.

    Args:
        target: the model bound to its data.
        key: key of the walkers and measurements.
        options: the user's choices.
        gradients: estimators to choose from, the preferred one first.
        located: the start of the warm-up.
        transitions: total length of all windows; there are none if it is too small.
    """
    approximation, anchor = located
    dimension, temperature = approximation.centre.size, options.temperature
    given: Any = options.preconditioner
    is_known = approximation.spread.is_dense
    if not is_known:
        approximation = approximation._replace(spread=_with_directions(target, approximation))
    key_points, key_tune, key = random.keys_of(key, 3)
    draw, name = points_program(temperature)
    points, positions = target.run(draw, approximation, key_points, name=name, optimise=False)
    caution = 1.0
    lengths = window_lengths(transitions)
    # Values are not known while JAX is tracing. At T = 0 draws do not show the posterior's width.
    if isinstance(approximation.centre, Tracer) or temperature == 0:
        lengths = []

    def tuned_at(key: jax.Array, points: jax.Array) -> tuple[Adaptation, AbstractLinearMap]:
        linear = given or approximation.spread
        slowest = _smallest(approximation, linear) if is_known else None
        return choose_numbers(
            target, key, options, gradients, linear, anchor, points, slowest, caution
        )

    adaptation, linear = tuned_at(key_tune, points)
    for length in lengths:
        key_window, key_tune, key = random.keys_of(key, 3)
        window = Window(options.dynamics, stand_in(adaptation.gradient), temperature)
        tuned = _tuned(adaptation, linear)
        seen = window.run(target, key_window, tuned, anchor, approximation, positions, length)
        approximation, is_known = updated(approximation, seen, temperature), True
        if options.anchor is None:
            anchor = _moved(target, anchor, approximation.centre)
        if float(seen.diverging) > 0:
            caution /= 2
        positions = seen.last
        points = seen.snapshots.reshape(-1, dimension)
        adaptation, linear = tuned_at(key_tune, points)
    adaptation = adaptation._replace(windows=len(lengths))
    return Prepared(_tuned(adaptation, linear), anchor, approximation, adaptation)


def compile_ahead(
    target: Target,
    options: Options,
    gradients: Sequence[AbstractGradient],
    located: Located,
    transitions: int,
) -> Prepared:
    """Begin to compile the programs that `warm_up` most likely runs; return result shapes.

    Args:
        target: the model bound to its data.
        options: the user's choices.
        gradients: estimators to choose from, the preferred one first.
        located: shapes of the start of the warm-up.
        transitions: total length of all windows.
    """
    approximation, anchor = located
    gradient = gradients[0]
    key = jax.eval_shape(jax.random.key, 0)
    position: Any = approximation.centre

    def shape(*sizes: int, dtype: Any = position.dtype) -> Any:
        return jax.ShapeDtypeStruct(sizes, dtype)

    points = shape(POINTS, *position.shape)
    draw, name = points_program(options.temperature)
    target.ahead(draw, approximation, key, name=name, optimise=False)
    linear: Any = options.preconditioner or approximation.spread
    kinks.compile_ahead(target, linear, points, key)
    if target.structure.plates or target.structure.is_random:
        measure, name = noise_program(gradient)
        target.ahead(measure, anchor, linear, points, key, name=name)
    friction = shape() if options.dynamics.has_friction else None
    tuned = Tuned(shape(), friction, linear, without_anchor(gradient))
    if window_lengths(transitions) and options.temperature > 0:
        window = Window(options.dynamics, stand_in(gradient), options.temperature)
        length = shape(dtype=jnp.int32)
        start = shape(WALKERS, *position.shape)
        spread: Any = approximation.spread
        window.ahead(target, key, tuned, anchor, position, spread, start, length)
        target.ahead(value_and_grad, position)
    return Prepared(tuned, anchor, approximation, None)


def points_program(temperature: float) -> tuple[Callable, Any]:
    """Return the program that draws the first points and the walkers' starts, and its name.

    The program takes an approximation and a key. The starts are the first of the points.
    """

    def draw(
        view: View, approximation: Approximation, key: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        points = approximation.draw(key, POINTS, temperature)
        return points, points[:WALKERS]

    return draw, (points_program, temperature)


def stand_in(gradient: AbstractGradient) -> AbstractGradient:
    """Return the estimator for a window.

    It replaces an estimator that follows a walker, because that would need passes over the data.
    """
    return without_anchor(gradient) if gradient.has_constant_state else FixedPoint()


def window_lengths(transitions: int) -> list[int]:
    """Return at most five lengths, each twice the one before, whose sum is about `transitions`."""
    transitions = min(transitions, MOST_TRANSITIONS)
    count = min(MOST_WINDOWS, int(log2(transitions / SHORTEST_WINDOW + 1)))
    return [transitions * 2**i // (2**count - 1) for i in range(count)]


def _with_directions(target: Target, approximation: Approximation) -> AbstractLinearMap:
    """Return the map of independent Gaussians as one that windows can learn a covariance with."""
    centre, scale = approximation.centre, approximation.spread.scale
    if centre.size <= DENSE_COVARIANCE:
        return Dense(jnp.diag(scale))
    return approximation.spread if isinstance(centre, Tracer) else coupled(target, centre, scale)


def _moved(target: Target, anchor: Anchor, centre: jax.Array) -> Anchor:
    moved = anchor_at(target, centre)
    finite = np.isfinite(moved.potential_energy) and np.all(np.isfinite(moved.gradient))
    return moved if finite else anchor


def _tuned(adaptation: Adaptation, linear: AbstractLinearMap) -> Tuned:
    return Tuned(
        adaptation.step_size,
        adaptation.friction,
        linear,
        without_anchor(adaptation.gradient),
        adaptation.correction,
    )


def _smallest(approximation: Approximation, linear: AbstractLinearMap) -> jax.Array | None:
    """Return the smallest curvature of the approximation in the coordinates of `linear`."""
    if isinstance(approximation.centre, Tracer) or isinstance(approximation.spread, Diagonal):
        return None
    if linear is approximation.spread:
        return jnp.ones((), approximation.centre.dtype)
    if not isinstance(approximation.spread, Dense):
        return None
    factor = np.asarray(approximation.spread.factor, np.float64)
    hessian = jnp.asarray(np.linalg.inv(factor @ factor.T), approximation.centre.dtype)
    rows = jax.vmap(linear.transpose)(hessian)
    curvatures = jnp.linalg.eigvalsh(jax.vmap(linear.transpose)(rows.T))
    return jnp.maximum(curvatures[0], jnp.finfo(curvatures.dtype).eps * curvatures[-1])
