"""A mean-field fit with the correlations that the curvature, averaged over its draws, asks for.

At the optimum of a mean-field fit q with standard deviations s, the averaged Hessian A = E_q[S H S]
with S = diag(s) has the diagonal 1. Its other entries tell how parameters depend on each other. The
best Gaussian N(m, S C S) near q has C = A^-1, the covariance if the posterior is a Gaussian. A few
draws show A, where a covariance of draws would take several times as many independent ones as there
are parameters, of chains that move slowly for the very reason that correlations are not known.
"""

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.preconditioner import Dense
from numpyro_sgmcmc.preparation import row_sums
from numpyro_sgmcmc.preparation.approximation import Approximation
from numpyro_sgmcmc.preparation.secants import is_small, misses_kinks, secants_along
from numpyro_sgmcmc.preparation.target import Target, View
from numpyro_sgmcmc.preparation.thresholds import (
    AVERAGED_DRAWS,
    AVERAGED_ROWS,
    CAUTION_ABOUT_CURVATURE,
    DENSE_COVARIANCE,
    VARYING_CURVATURE,
)


def with_correlations(target: Target, key: jax.Array, fit: Approximation) -> Approximation:
    """Return a mean-field fit with correlations, if its dimension is at most `DENSE_COVARIANCE`.

    A curvature below 1 widens the fit. It counts with `CAUTION_ABOUT_CURVATURE` standard errors of
    its average over draws, and as 1 if this is larger than 1 or not positive. A coordinate whose
    own curvature varies much over the draws, such as a scale near 0, keeps its fit and has no
    correlations. Where second derivatives miss the curvature of kinks, secants measure it.

    Args:
        target: the model bound to its data.
        key: of the draws, and of rows where there are many.
        fit: a mean-field fit.
    """
    if fit.centre.size > DENSE_COVARIANCE:
        return fit
    found = target.run(_curvatures, fit, key)
    hessians, rounding = np.asarray(found, np.float64), float(jnp.finfo(found.dtype).eps)
    if not np.all(np.isfinite(hessians)):
        return fit
    own = steady_curvatures(hessians)
    if np.any(is_small(own)) and len(target.structure.plates) == 1:
        by_secants = np.asarray(target.run(_secants, fit, key), np.float64)
        if np.all(np.isfinite(by_secants)) and misses_kinks(own, _own(by_secants).mean(0)):
            hessians = by_secants
    hessians = _apart(hessians)
    curvatures, axes = np.linalg.eigh(hessians.mean(0))
    along = np.einsum("ia,kij,ja->ka", axes, hessians, axes, optimize=True)
    error = along.std(0, ddof=1) / len(hessians) ** 0.5
    cautious = np.minimum(curvatures + CAUTION_ABOUT_CURVATURE * error, 1.0)
    soft = np.where(cautious > rounding * curvatures[-1], cautious, 1.0)
    used = np.where(curvatures < 1, soft, curvatures)
    root = np.asarray(fit.spread.scale)[:, None] * axes / np.sqrt(used)
    return fit._replace(spread=Dense(jnp.asarray(root, fit.centre.dtype)))


def steady_curvatures(hessians: np.ndarray) -> np.ndarray:
    """Return the averaged diagonal of S H S at draws, (draws, d, d); 1 where it varies much."""
    own = _own(hessians)
    return np.where(_varies(own), 1.0, own.mean(0))


def _own(hessians: np.ndarray) -> np.ndarray:
    return np.diagonal(hessians, axis1=1, axis2=2)


def _varies(own: np.ndarray) -> np.ndarray:
    return own.std(0, ddof=1) > VARYING_CURVATURE * np.abs(own.mean(0))


def _apart(hessians: np.ndarray) -> np.ndarray:
    """Return S H S at draws, (draws, d, d), where coordinates of varying curvature stand alone."""
    varies = _varies(_own(hessians))
    steady = np.outer(~varies, ~varies)
    return np.where(steady, hessians, np.diag(np.ones(len(varies))))


def _curvatures(view: View, fit: Approximation, key: jax.Array) -> jax.Array:
    """Return S H S at draws of the fit, (draws, d, d), each from other rows if there are many."""
    key_draws, *keys = random.split(key, AVERAGED_DRAWS + 1)
    scale = fit.spread.scale

    def at(point: tuple[jax.Array, jax.Array]) -> jax.Array:
        rows = view.many_rows(point[1], AVERAGED_ROWS)
        hessian = row_sums.second_order(view, rows, point[0])[2]
        return scale[:, None] * (hessian + hessian.T) / 2 * scale

    return jax.lax.map(at, (fit.draw(key_draws, AVERAGED_DRAWS), jnp.stack(keys)))


def _secants(view: View, fit: Approximation, key: jax.Array) -> jax.Array:
    """Return the same by secants over one standard deviation of each coordinate.

    With the same key these are at the same draws and rows, for a comparison.
    """
    key_draws, *keys = random.split(key, AVERAGED_DRAWS + 1)

    def scaled(x: jax.Array) -> jax.Array:
        return fit.spread.scale * x

    def at(point: tuple[jax.Array, jax.Array]) -> jax.Array:
        rows = view.many_rows(point[1], AVERAGED_ROWS)
        return secants_along(view, point[0], rows, scaled, scaled, fit.centre.size)

    return jax.lax.map(at, (fit.draw(key_draws, AVERAGED_DRAWS), jnp.stack(keys)))
