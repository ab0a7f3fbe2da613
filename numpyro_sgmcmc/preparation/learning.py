"""What a window's draws teach: an approximation with their mean and covariance."""

from math import sqrt
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.preconditioner import AbstractLinearMap, Coupled, Dense
from numpyro_sgmcmc.preparation.approximation import Approximation
from numpyro_sgmcmc.preparation.coupling import rescaled
from numpyro_sgmcmc.preparation.thresholds import PATH_EACH, RUN_AWAY, STIFF, UNCORRELATED
from numpyro_sgmcmc.preparation.windows import Seen


def updated(approximation: Approximation, seen: Seen, temperature: float) -> Approximation:
    """Return the approximation updated with the mean and covariance of a window's draws.

    The draws' covariance in y is shrunk towards I, which is the covariance of the approximation. In
    few dimensions, directions in which the approximation is far too wide are also narrowed one by
    one.
    """
    spread: AbstractLinearMap = approximation.spread
    means = np.asarray(seen.means, np.float64)
    mean = means.mean(0)
    covariance, diagonal = _covariance(spread, seen.second, mean)
    # Walkers that never moved or are not finite give no information.
    if not all(np.all(np.isfinite(part)) for part in covariance) or not np.all(diagonal > 0):
        return approximation
    between = means.var(0, ddof=1).sum()
    draws = len(means) * min(float(seen.length), diagonal.sum() / max(between, 1e-30))
    shrunk = [_shrunk(part, max(draws, 1.0)) for part in covariance]
    if isinstance(spread, Dense):
        away = np.asarray(seen.path, np.float64) - np.asarray(approximation.centre)
        shrunk = [_narrowed(shrunk[0], covariance[0], away / sqrt(temperature), spread)]
    moved = sqrt(temperature) * spread.apply(jnp.asarray(mean, approximation.centre.dtype))
    return Approximation(approximation.centre + moved, _composed(spread, shrunk))


def is_lost(seen: Seen) -> bool:
    """Return whether a walker ran away, so that its path dominates the moments of a window.

    The position of an unstable walker grows until a number overflows, and only then is the walker
    moved back. The moments contain the positions before. If no number has overflowed when the
    window ends, the walker is known by squares so large that rounding leaves no digit of a variance
    of 1.
    """
    parts = [np.asarray(part) for part in jax.tree.leaves(seen.second)]
    squares = [np.diag(part) if part.ndim == 2 else part for part in parts]
    is_far = not all(np.all(part < RUN_AWAY**2) for part in squares)
    is_resolved = all(np.all(part < 1 / np.finfo(part.dtype).eps) for part in squares)
    return not is_resolved or (is_far and float(seen.diverging) > 0)


def _covariance(
    spread: AbstractLinearMap, second: Any, mean: np.ndarray
) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the covariance in y: a matrix or a diagonal, or both; and variances, (d,)."""
    if isinstance(spread, Coupled):
        subspace, y = spread.subspace, jnp.asarray(mean, spread.outer.dtype)
        inside = np.asarray(subspace.coordinates(y), np.float64)
        outside = np.asarray(second[0], np.float64) - np.asarray(subspace.outside(y)) ** 2
        share = np.asarray(subspace.diagonal_outside(jnp.ones_like(y)), np.float64)
        outside = np.where(share > 0, outside / np.where(share > 0, share, 1.0), 1.0)
        within = np.asarray(second[1], np.float64) - np.outer(inside, inside)
        return [outside, within], outside
    second = np.asarray(second, np.float64)
    if second.ndim == 2:
        covariance = second - np.outer(mean, mean)
        return [covariance], np.diag(covariance)
    return [second - mean**2], second - mean**2


def _shrunk(covariance: np.ndarray, draws: float) -> np.ndarray:
    """Return a covariance, or a diagonal, shrunk towards I.

    The weight of I is the share of the squared distance from I that sampling error explains (Ledoit
    and Wolf 2004, with the effective number of draws).
    """
    dense = covariance.ndim == 2
    eye = np.eye(len(covariance)) if dense else np.ones(len(covariance))
    distance = np.sum((covariance - eye) ** 2)
    square = np.sum(covariance**2)
    error = (square + np.trace(covariance) ** 2 if dense else 2 * square) / draws
    kept = 1 - min(1.0, error / max(distance, 1e-30))
    return kept * covariance + (1 - kept) * eye


def _narrowed(
    shrunk: np.ndarray, covariance: np.ndarray, path: np.ndarray, spread: Dense
) -> np.ndarray:
    """Return a covariance that was shrunk towards I, narrowed along stiff directions.

    `_shrunk` gives I the same weight in all directions, and the slowest directions decide it. It
    can keep a variance of 1 where the draws have 0.0001, because the distance of the two is only
    1. Such a direction then limits the step size in all later windows. A stiff direction relaxes
    between two positions of the window's path. Along a slow one, draws may vary as little because
    walkers hardly move, but then these positions are autocorrelated. If they are not, they count as
    n independent draws. If
    the variance v along an axis were 1, its covariances with all axes would have the squared error
    (1 + tr C) / n. The squared distance of v from 1 is nearly 1, so that this is the weight w of I
    (Ledoit and Wolf 2004), and the variance becomes w + (1 - w) v. Nothing is narrowed with fewer
    than `PATH_EACH` positions for each dimension: along some axis they vary little by chance.

    Args:
        shrunk: the covariance that is changed, (d, d).
        covariance: that of the draws, C, in the coordinates y, (d, d).
        path: z - centre at positions of the walkers, over sqrt(T), (count, walkers, d).
        spread: the map from y to z.
    """
    count = path.shape[0] * path.shape[1]
    if PATH_EACH * len(covariance) > count:
        return shrunk
    variances, axes = np.linalg.eigh(covariance)
    stiff = variances < STIFF
    if not stiff.any():
        return shrunk
    axes, variances = axes[:, stiff], variances[stiff]
    along = path @ np.linalg.inv(np.asarray(spread.factor, np.float64)).T @ axes
    along -= along.mean((0, 1))
    square = np.maximum(np.mean(along**2, axis=(0, 1)), np.finfo(np.float64).tiny)
    together = np.mean(along[1:] * along[:-1], axis=(0, 1)) / square
    lost = min(1.0, (1 + np.trace(covariance)) / count)
    now = np.sum(axes * (shrunk @ axes), axis=0)
    ratio = np.minimum(1.0, (lost + (1 - lost) * variances) / now)
    scale = np.where(together < UNCORRELATED, np.sqrt(ratio), 1.0)
    narrow = np.eye(len(shrunk)) + (axes * (scale - 1)) @ axes.T
    return narrow @ shrunk @ narrow


def _composed(spread: AbstractLinearMap, shrunk: list[np.ndarray]) -> AbstractLinearMap:
    """Return the spread whose y has the given covariance in the coordinates of this one."""
    if isinstance(spread, Dense):
        factor = jnp.asarray(np.linalg.cholesky(shrunk[0]), spread.factor.dtype)
        return Dense(jax.vmap(spread.apply, in_axes=1, out_axes=1)(factor))
    inside = np.linalg.cholesky(shrunk[1]) if len(shrunk) > 1 else None
    return rescaled(spread, np.sqrt(shrunk[0]), inside)
