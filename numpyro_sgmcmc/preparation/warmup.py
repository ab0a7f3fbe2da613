"""The warm-up: a sequence of windows, each of which improves the settings for the next."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.gradient import AbstractGradient, Anchor, FixedPoint
from numpyro_sgmcmc.preconditioner import AbstractLinearMap, Dense, Diagonal
from numpyro_sgmcmc.preparation import kinks
from numpyro_sgmcmc.preparation.approximation import Approximation, point_count
from numpyro_sgmcmc.preparation.autocorrelation import slowest
from numpyro_sgmcmc.preparation.coupling import coupled
from numpyro_sgmcmc.preparation.learning import is_lost, updated
from numpyro_sgmcmc.preparation.locate import Located, anchor_at
from numpyro_sgmcmc.preparation.noise import noise_program
from numpyro_sgmcmc.preparation.options import Options, without_anchor
from numpyro_sgmcmc.preparation.pace import (
    Need,
    chosen_steps,
    enough_for_predictions,
    need_of,
    need_of_predictions,
    next_length,
    pace_of,
    steps_of_draws,
    window_lengths,
)
from numpyro_sgmcmc.preparation.prepared import Adaptation, Prepared
from numpyro_sgmcmc.preparation.refusal import check_measured, check_resolution
from numpyro_sgmcmc.preparation.row_energies import time_of_rows
from numpyro_sgmcmc.preparation.target import Target, View
from numpyro_sgmcmc.preparation.thresholds import DENSE_COVARIANCE, MOST_LOST, WALKERS
from numpyro_sgmcmc.preparation.tuning import choose_numbers
from numpyro_sgmcmc.preparation.windows import Window
from numpyro_sgmcmc.state import Pace, Tuned


def warm_up(
    target: Target,
    key: jax.Array,
    options: Options,
    gradients: Sequence[AbstractGradient],
    located: Located,
    num_warmup: int,
) -> Prepared:
    """Return what a run starts from, after windows of 8 walkers.

    Each window is about twice as long as the one before, and all of them together have as many
    transitions as `num_warmup` iterations that give draws, at most 20,000. If the number of
    transitions in an iteration is open, each window measures what the slowest coordinate needs, and
    the length of the next one follows from it. After a window, the anchor becomes the mean of
    its draws, and the preconditioner follows from their covariance, shrunk towards the last one.
    Curvature and gradient noise are measured at the draws; step size, friction and correction
    follow from them. An anchor or preconditioner that the user gave is kept.

    Where settings are for predictions in many dimensions, windows end as soon as they show enough
    of these, see `enough_for_predictions`.

    If a walker runs away, its path dominates the moments of the window. The warm-up learns nothing
    from such a window and repeats it with half of the step size, up to four times in all.

    Args:
        target: the model bound to its data, with effects in the coordinates of `located`.
        key: key of the walkers and measurements.
        options: the user's choices.
        gradients: estimators to choose from, the preferred one first.
        located: the start of the warm-up.
        num_warmup: number of NumPyro's warm-up iterations. There are no windows if all of them
            together have less than 20 transitions.

    Raises:
        ValueError: if floating-point numbers do not resolve the posterior, or if derivatives around
            the centre are not finite.
    """
    approximation, anchor, other_modes, centring, stiffest = located
    dimension, temperature = approximation.centre.size, options.temperature
    given: Any = options.preconditioner
    is_known = approximation.spread.is_dense
    if not is_known:
        approximation = approximation._replace(spread=_with_directions(target, approximation))
    key_points, key_tune, key = random.keys_of(key, 3)
    draw, name = points_program(temperature)
    points, positions = target.run(draw, approximation, key_points, name=name, optimise=False)
    if temperature > 0:
        check_resolution(target.structure, approximation.centre, jnp.std(points, axis=0))
    caution, differ = 1.0, False
    # Values are not known while JAX is tracing. At T = 0 draws do not show the posterior's width.
    has_windows = not isinstance(approximation.centre, Tracer) and temperature > 0

    def tuned_at(key: jax.Array, points: jax.Array) -> tuple[Adaptation, AbstractLinearMap]:
        linear = given or approximation.spread
        smallest = _smallest(approximation, linear) if is_known else None
        return choose_numbers(
            target,
            *(key, options, gradients, linear),
            *(anchor, points, smallest, caution, differ, stiffest),
        )

    adaptation, linear = tuned_at(key_tune, points)
    check_measured(target, points, adaptation.step_size)
    need = need_of(adaptation.relaxation_steps, None, 1.0, target.structure)
    done: list[int] = []
    seconds, lost, enough = None, 0, math.inf
    while length := _next_length(
        options,
        num_warmup if has_windows else 0,
        done,
        _need_of_windows(adaptation, linear, need),
        enough,
    ):
        key_window, key_tune, key, key_rows = random.keys_of(key, 4)
        window = _window(options, adaptation.gradient)
        tuned = _tuned(adaptation, linear)
        start = approximation, jnp.std(points, axis=0), positions, length
        seen, seconds = window.run(target, key_window, tuned, anchor, *start)
        if is_lost(seen):
            lost, caution, before, enough = lost + 1, caution / 2, adaptation, math.inf
            adaptation, linear = tuned_at(key_tune, points)
            need = need._replace(time=need.time * _time_of(adaptation) / _time_of(before))
            if lost > MOST_LOST:
                done.append(length)
            continue
        approximation, is_known = updated(approximation, seen, temperature), True
        if options.anchor is None:
            anchor = _moved(target, anchor, approximation.centre)
        if float(seen.diverging) > 0:
            caution /= 2
        positions = seen.last
        points = seen.points(point_count(dimension))
        before = adaptation
        # Directions that differ over the posterior do so after every window.
        differ = before.noisy_directions == 0
        adaptation, linear = tuned_at(key_tune, points)
        slower = _time_of(adaptation) / _time_of(before)
        if adaptation.is_for_predictions:
            need = need_of_predictions(need, time_of_rows(target, key_rows, seen), slower)
        else:
            need = need_of(adaptation.relaxation_steps, slowest(seen), slower, target.structure)
        is_predicted = adaptation.is_for_predictions and not isinstance(linear, Dense)
        enough = enough_for_predictions(need, slower) if is_predicted else math.inf
        done.append(length)
    tuned, adaptation = _tuned(adaptation, linear), adaptation._replace(windows=len(done))
    if options.num_steps is None:
        num_steps, least = steps_of_draws(options, need, num_warmup, target.structure)
        tuned = tuned._replace(pace=pace_of(num_steps, num_warmup, least))
    else:
        num_steps = jnp.asarray(options.num_steps, jnp.int32)
    tuned = tuned._replace(other_modes=other_modes, centring=centring)
    adaptation = adaptation._replace(
        centring=centring,
        num_steps=num_steps,
        autocorrelation_time=need.time,
        slowest_site=need.site,
        is_measured=need.is_measured,
        seconds_per_transition=seconds,
    )
    return Prepared(tuned, anchor, approximation, adaptation)


def compile_ahead(
    target: Target,
    options: Options,
    gradients: Sequence[AbstractGradient],
    located: Located,
    num_warmup: int,
) -> Prepared:
    """Begin to compile the programs that `warm_up` most likely runs; return result shapes.

    Args:
        target: the model bound to its data.
        options: the user's choices.
        gradients: estimators to choose from, the preferred one first.
        located: shapes of the start of the warm-up.
        num_warmup: number of NumPyro's warm-up iterations.
    """
    approximation, anchor = located.approximation, located.anchor
    gradient = gradients[0]
    key = jax.eval_shape(jax.random.key, 0)
    position: Any = approximation.centre

    def shape(*sizes: int, dtype: Any = position.dtype) -> Any:
        return jax.ShapeDtypeStruct(sizes, dtype)

    points = shape(point_count(position.size), *position.shape)
    draw, name = points_program(options.temperature)
    target.ahead(draw, approximation, key, name=name, optimise=False)
    linear: Any = options.preconditioner or approximation.spread
    kinks.compile_ahead(target, linear, points, key)
    if target.structure.plates or target.structure.is_random:
        measure, name = noise_program(gradient)
        target.ahead(measure, anchor, linear, points, key, name=name)
    friction = shape() if options.dynamics.has_friction else None
    tuned = Tuned(shape(), friction, linear, without_anchor(gradient))
    if window_lengths((options.num_steps or 1) * num_warmup) and options.temperature > 0:
        window = _window(options, gradient)
        length = shape(dtype=jnp.int32)
        start = shape(WALKERS, *position.shape)
        spread: Any = approximation.spread
        window.ahead(target, key, tuned, anchor, position, spread, position, start, length)
        target.ahead(View.value_and_grad, position)
    if options.num_steps is None:
        tuned = tuned._replace(pace=Pace(*[shape(dtype=jnp.int32)] * 3))
    return Prepared(tuned, anchor, approximation, None)


def points_program(temperature: float) -> tuple[Callable, Any]:
    """Return the program that draws the first points and the walkers' starts, and its name.

    The program takes an approximation and a key. The starts are the first of the points.
    """

    def draw(
        view: View, approximation: Approximation, key: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        points = approximation.draw(key, point_count(approximation.centre.size), temperature)
        return points, points[:WALKERS]

    return draw, (points_program, temperature)


def _window(options: Options, gradient: AbstractGradient) -> Window:
    return Window(options.dynamics, stand_in(gradient), options.temperature, options.increments)


def stand_in(gradient: AbstractGradient) -> AbstractGradient:
    """Return the estimator for a window.

    It replaces an estimator that follows a walker, because that would need passes over the data.
    """
    return without_anchor(gradient) if gradient.has_constant_state else FixedPoint()


def _next_length(
    options: Options, num_warmup: int, done: Sequence[int], need: Need, enough: float
) -> int | None:
    """Return the length of the window after those that are done; None if there is none."""
    if options.num_steps is not None:
        lengths = window_lengths(options.num_steps * num_warmup)
        return lengths[len(done)] if len(done) < len(lengths) else None
    if not num_warmup:
        return None
    return next_length(done, int(min(num_warmup * int(chosen_steps(options, need)), enough)))


def _need_of_windows(adaptation: Adaptation, linear: AbstractLinearMap, need: Need) -> Need:
    """Return the need that lengths of windows follow from.

    A dense map may be far from the posterior at first. That alone can make settings for every
    parameter too slow, so that settings for predictions are chosen. The map is therefore learned
    for as long as settings for every parameter would take.
    """
    if not (adaptation.is_for_predictions and isinstance(linear, Dense)):
        return need
    return need._replace(time=jnp.asarray(jnp.inf))


def _time_of(adaptation: Adaptation) -> float:
    """Return the unit of time of the dynamics in transitions: 1 / h, or D / h with friction D."""
    friction = 1.0 if adaptation.friction is None else float(adaptation.friction)
    return friction / float(adaptation.step_size)


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
        scheme=adaptation.scheme,
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
