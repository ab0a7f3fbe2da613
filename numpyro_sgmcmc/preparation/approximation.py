"""Gaussian approximations of the posterior, from which a warm-up starts."""

from functools import partial
from math import sqrt
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.preconditioner import Dense, Diagonal
from numpyro_sgmcmc.preparation import row_sums
from numpyro_sgmcmc.preparation.axes import principal_axes
from numpyro_sgmcmc.preparation.mode import Mode, conditional_scale
from numpyro_sgmcmc.preparation.start_thresholds import CHECKED_DRAWS, NOT_GAUSSIAN, PROFILE
from numpyro_sgmcmc.preparation.target import Target, View
from numpyro_sgmcmc.preparation.thresholds import FEWEST_POINTS, MANY_SEGMENTS, POINTS


class Approximation(NamedTuple):
    """N(centre, spread spread'): centre (d,), spread a linear map of (d,).

    If the spread is None, the approximation is the point `centre`.
    """

    centre: jax.Array
    spread: Any

    @partial(jax.jit, static_argnames=("count", "temperature"))
    def draw(self, key: jax.Array, count: int, temperature: float = 1.0) -> jax.Array:
        """Return draws (count, d); the covariance is multiplied by the temperature."""
        noise = random.normal(key, (count, self.centre.size), self.centre.dtype)
        return self.at(sqrt(temperature) * noise)

    def at(self, y: jax.Array) -> jax.Array:
        """Return centre + spread y for each row of y."""
        return self.centre + jax.vmap(self.spread.apply)(y)


@jax.jit
def laplace(mode: Mode) -> Approximation:
    """Return the Gaussian at the mode whose precision is the Hessian, or its estimated diagonal."""
    if not mode.is_dense:
        return Approximation(mode.position, Diagonal(conditional_scale(mode.hessian)))
    axes = principal_axes(mode.hessian)
    return Approximation(mode.position, Dense(axes.root(axes.curvatures)))


def laplace_at(view: View, mode: Mode) -> Approximation:
    """Return `laplace(mode)`; this form can be passed to `Target.run`."""
    return laplace(mode)


class Surroundings(NamedTuple):
    """The potential around a mode.

    Attributes:
        ratios: (U - U(mode)) / (|y|^2 / 2) at draws mode + S y of the Laplace approximation.
        profiles: U - U(mode) at equally spaced points on the way to each of some positions,
            (positions, PROFILE).
    """

    ratios: jax.Array
    profiles: jax.Array


def is_sound(target: Target, mode: Mode, key: jax.Array) -> bool:
    """Return whether the Laplace approximation at a mode describes U at its own draws."""
    nowhere = jnp.zeros((0, mode.position.size), mode.position.dtype)
    is_known = mode.is_dense and not isinstance(mode.position, Tracer)
    return describes(mode, surroundings_of(target, mode, key, nowhere) if is_known else None)


def describes(mode: Mode, found: Surroundings | None) -> bool:
    """Return whether the Laplace approximation describes U at its own draws.

    A centred hierarchical model has no useful joint mode: its scale tends to 0 and its curvature to
    infinity. Three conditions are therefore checked: the search has converged, the curvature is
    positive, and U(z) - U(mode) is close to |x|^2 / 2 for draws z = mode + S x. They are checked
    only if the whole Hessian is known. Otherwise `found` is None and the result True.
    """
    if found is None:
        return True
    if not is_minimum(mode):
        return False
    return bool(np.quantile(np.abs(np.asarray(found.ratios) - 1), 0.8) < NOT_GAUSSIAN)


def is_minimum(mode: Mode) -> bool:
    """Return whether the search has converged at a point of positive curvature."""
    gradient, hessian = np.asarray(mode.gradient), np.asarray(mode.hessian)
    if not (np.all(np.isfinite(gradient)) and np.all(np.isfinite(hessian))):
        return False
    if np.asarray(principal_axes(mode.hessian).curvatures)[0] <= 0:
        return False
    return float(mode.distance) <= max(1.0, 0.1 * sqrt(len(gradient)))


def surroundings_of(target: Target, mode: Mode, key: jax.Array, ends: jax.Array) -> Surroundings:
    """Return the potential around a mode and on the way to other positions, (positions, d)."""
    if target.passes is None:
        return target.run(surroundings, mode, key, ends)
    y, points = target.run(_points_around, mode, key, ends)
    return _surroundings(mode, y, target.total_elsewhere(row_sums.potentials, points))


def surroundings(view: View, mode: Mode, key: jax.Array, ends: jax.Array) -> Surroundings:
    """Return the same; this form can be passed to `Target.run`."""
    y, points = _points_around(view, mode, key, ends)
    return _surroundings(mode, y, view.total(row_sums.potentials, points))


def _points_around(view: View, mode: Mode, key: jax.Array, ends: jax.Array) -> Any:
    """Return standard normal variables, and the positions at which U is evaluated."""
    y = random.normal(key, (CHECKED_DRAWS, mode.position.size), mode.position.dtype)
    share = jnp.arange(1, PROFILE + 1, dtype=y.dtype)[:, None] / PROFILE
    ways = mode.position + share * (ends[:, None] - mode.position)
    return y, jnp.concatenate([laplace(mode).at(y), ways.reshape(-1, y.shape[1])])


def _surroundings(mode: Mode, y: jax.Array, found: jax.Array) -> Surroundings:
    found = found - mode.potential_energy
    ratios = found[:CHECKED_DRAWS] / (jnp.sum(y**2, axis=1) / 2)
    return Surroundings(ratios, found[CHECKED_DRAWS:].reshape(-1, PROFILE))


def point_count(dimension: int) -> int:
    """Return the number of positions at which gradient noise is measured."""
    return POINTS if dimension <= MANY_SEGMENTS else FEWEST_POINTS
