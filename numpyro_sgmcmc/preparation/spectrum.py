"""Gradient noise by curvature, where its directions differ over the posterior.

The noise of a network or a factorisation is largest where the potential is stiff, in directions
that differ from position to position. No fixed map describes them. What counts for a prediction is
their sum. With noise V_k and relative excess of the variance e_k = V_k heat(c_k) in the direction
k of curvature c_k, the variances of log p(y_i), summed over the rows, grow from p to

    p + sum_k phi_k e_k <= p + sum_k V_k heat(c_k),

because the share phi_k of the curvature that comes from the likelihood is at most 1. p is the
effective number of parameters (Watanabe 2010). So predictions have a variance that is too large
by sum_k V_k heat(c_k) / p, averaged over rows. At a temperature T the same holds: p is measured
at draws of the tempered posterior and grows by T, while e_k falls by T.

The sum needs no directions. With a minibatch's deviation e of the gradient it is the mean of
e' heat(H) e, which the method of Lanczos integrates (Golub and Welsch 1969): its Ritz values, and
the squares of the first entries of its eigenvectors, are nodes and weights.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.gradient import AbstractGradient, Anchor
from numpyro_sgmcmc.identity import identity_of
from numpyro_sgmcmc.minibatch import AbstractMinibatch, Epoch, ReshuffledMinibatch
from numpyro_sgmcmc.preconditioner import AbstractLinearMap
from numpyro_sgmcmc.preparation.epochs import may_use_epochs
from numpyro_sgmcmc.preparation.lanczos import quadrature
from numpyro_sgmcmc.preparation.limits import Chosen, Limits
from numpyro_sgmcmc.preparation.noisy_directions import has_row_noise
from numpyro_sgmcmc.preparation.options import Options
from numpyro_sgmcmc.preparation.pace import Need, wanted_steps
from numpyro_sgmcmc.preparation.row_energies import effective_parameters
from numpyro_sgmcmc.preparation.target import Target, View
from numpyro_sgmcmc.preparation.thresholds import (
    CURVATURE_POINTS,
    CURVATURES,
    DEVIATIONS,
    LEAST_GAIN,
    SPECTRUM_STEPS,
    STEP_FACTORS,
    TOLERANCE,
)
from numpyro_sgmcmc.stationary import relative_variance


class ForPredictions(NamedTuple):
    """Settings at which predictions are right on average.

    Attributes:
        gradient: the estimator.
        scheme: minibatches in epochs; None if independent ones do as well.
        chosen: what follows for the step size. Its share is the relative excess of the variance of
            predictions, averaged over rows.
    """

    gradient: AbstractGradient
    scheme: AbstractMinibatch | None
    chosen: Chosen

    @property
    def cost(self) -> float:
        """Minibatch gradients that the slowest direction takes to relax."""
        return self.gradient.gradients_per_step * float(self.chosen.relaxation_steps)


class Spectrum(NamedTuple):
    """Gradient noise by curvature, in a preconditioner's coordinates.

    Attributes:
        curvatures: nodes c_k, (nodes,).
        noise: noise V_k there, whose sum is the trace of its covariance, (nodes,).
        parameters: effective number of parameters p, ().
    """

    curvatures: np.ndarray
    noise: np.ndarray
    parameters: float

    @property
    def is_known(self) -> bool:
        """Whether the posterior has curvature, and rows that say different things of it."""
        values = np.append(self.noise, self.parameters)
        return bool(np.all(np.isfinite(values)) and self.parameters > 0 and self.curvatures.any())


def noise_spectrum(
    target: Target,
    key: jax.Array,
    gradient: AbstractGradient,
    linear: AbstractLinearMap,
    anchor: Anchor | None,
    points: jax.Array,
) -> Spectrum:
    """Return the noise for one subsampled plate, averaged over positions (points, d)."""

    def measure(
        view: View, linear: Any, anchor: Any, points: jax.Array, key: jax.Array
    ) -> tuple[jax.Array, ...]:
        key_noise, key_rows = random.split(key)
        state = gradient.init(view, points[-1], anchor)

        def at(inputs: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            position, key = inputs
            key_rows, key_draws = random.split(key)
            rows = view.many_rows(key_rows)

            def product(vector: jax.Array) -> jax.Array:
                moved = view.hessian_product_over(position, linear.apply(vector), rows)
                return linear.transpose(moved)

            def draw(key: jax.Array) -> jax.Array:
                estimate, _ = gradient.estimate(view.potential, position, view.draw(key), state)
                return linear.transpose(estimate.gradient)

            draws = jax.lax.map(draw, random.split(key_draws, DEVIATIONS))
            deviations = (draws - draws.mean(0)) * jnp.sqrt(DEVIATIONS / (DEVIATIONS - 1.0))

            return jax.lax.map(lambda e: quadrature(product, e, SPECTRUM_STEPS), deviations)

        some = points[:: max(1, len(points) // CURVATURE_POINTS)]
        curvatures, noise = jax.lax.map(at, (some, random.split(key_noise, len(some))))
        weight = len(some) * DEVIATIONS
        parameters = effective_parameters(view, points, key_rows)
        return curvatures.ravel(), noise.ravel() / weight, parameters

    inputs = linear, anchor, points, key
    name = "noise spectrum", identity_of(gradient)
    found = target.run(measure, *inputs, name=name, optimise=False)
    curvatures, noise, parameters = (np.asarray(x, np.float64) for x in found)
    return Spectrum(curvatures, noise, float(parameters))


def predicting_instead(
    target: Target, key: jax.Array, options: Options, chosen: Chosen, cost: float, given: Any
) -> ForPredictions | None:
    """Return settings for predictions where those for every parameter take too long, else None.

    Settings for every parameter that take m transitions of a draw are given up for a gain of at
    least `LEAST_GAIN` where m is `max_num_steps` or more, and
    `LEAST_GAIN * (max_num_steps / m)^2` below. So parameters keep their guarantee where it is
    cheap.

    Args:
        target: the model bound to its data.
        key: key of the measurements.
        options: the user's choices.
        chosen: settings that keep the variance of every parameter within the tolerance.
        cost: minibatch gradients that these take to relax.
        given: further arguments of `predicting`.
    """
    wanted = float(wanted_steps(Need(2 * chosen.relaxation_steps)))
    most = cost / LEAST_GAIN * min(1.0, wanted / options.max_num_steps) ** 2
    *_, limits, caution, slowest = given
    # A bound of their cost, without noise, which saves the measurement in most cases.
    fewest = float(limits.dynamics.relaxation_steps(slowest, caution * limits.smooth))
    if fewest > most:
        return None
    found = predicting(target, key, options, *given)
    return None if found is None or found.cost > most else found


def predicting(
    target: Target,
    key: jax.Array,
    options: Options,
    gradients: Sequence[AbstractGradient],
    linear: AbstractLinearMap,
    anchor: Anchor | None,
    points: jax.Array,
    limits: Limits,
    caution: float,
    slowest: Any,
) -> ForPredictions | None:
    """Return the settings that relax with the fewest gradients, where predictions are right.

    Gradient noise may widen their variance by half of the tolerance on average over rows. The
    result is None where neither the noise nor what rows say of the parameters can be measured.

    Args:
        target: a model with one subsampled plate, bound to its data.
        key: key of the measurements; all estimators are measured on the same minibatches.
        options: the user's choices.
        gradients: estimators to choose from.
        linear: the map of the coordinates in which all is measured.
        anchor: the fixed point of estimators that need one.
        points: positions typical of the posterior, (points, d).
        limits: what limits the step size, and the dynamics with their friction.
        caution: factor of the step size; below 1 if larger step sizes have diverged.
        slowest: the smallest curvature.
    """
    (plate,) = target.structure.plates.values()
    found: list[ForPredictions] = []
    for gradient in gradients:
        if not has_row_noise(target, gradient):
            continue
        spectrum = noise_spectrum(target, key, gradient, linear, anchor, points)
        if not spectrum.is_known:
            continue
        most = TOLERANCE / 2 * spectrum.parameters
        inputs = spectrum, limits, most, caution, slowest
        best, scheme = _largest(*inputs, None), None
        if may_use_epochs(options, gradient, target.structure):
            epochs = ReshuffledMinibatch()
            faster = _largest(*inputs, epochs.epoch(plate))
            if float(faster.relaxation_steps) * LEAST_GAIN <= float(best.relaxation_steps):
                best, scheme = faster, epochs
        found.append(ForPredictions(gradient, scheme, best))
    return min(found, key=lambda one: one.cost, default=None)


def widening(spectrum: Spectrum, dynamics: Any, step_size: float, epoch: Epoch | None) -> float:
    """Return sum_k V_k heat(c_k); infinite if the recursion is unstable at some curvature.

    A negative curvature counts as its absolute value, one below 1e-3 of the largest as that. For
    independent minibatches heat does not depend on curvatures as small as that; for epochs it is
    smaller, so that the sum is an upper bound.
    """
    sizes = np.abs(spectrum.curvatures)
    grid = np.geomspace(1e-3 * sizes.max(), sizes.max(), CURVATURES)
    nothing, unit = np.zeros_like(grid), np.ones_like(grid)
    dynamics = dynamics.linearised()
    silent = relative_variance(dynamics, step_size, grid, nothing, nothing)
    noisy = relative_variance(dynamics, step_size, grid, unit, nothing, epoch=epoch)
    if not np.all(np.isfinite(noisy)):
        return np.inf
    heat = np.interp(np.log(np.maximum(sizes, grid[0])), np.log(grid), noisy - silent)
    return float(heat @ spectrum.noise)


def _largest(
    spectrum: Spectrum,
    limits: Limits,
    most: float,
    caution: float,
    slowest: Any,
    epoch: Epoch | None,
) -> Chosen:
    """Return the largest step size, times `caution`, at which the widening is at most `most`.

    The widening grows with the step size, so that it is found by bisection.
    """

    def at(place: int) -> float:
        h = float(limits.smooth) * STEP_FACTORS[place]
        return widening(spectrum, limits.dynamics, h, epoch)

    last = len(STEP_FACTORS) - 1
    place = bisect_left(range(last), True, key=lambda place: at(place) <= most)
    factor = STEP_FACTORS[place]
    h = caution * limits.smooth * factor
    return Chosen(
        step_size=h,
        share=jnp.asarray(at(place) / spectrum.parameters),
        relaxation_steps=limits.dynamics.relaxation_steps(slowest, h),
        batch_factor=jnp.asarray(1 / factor),
        largest_noise=jnp.ones_like(h),
    )
