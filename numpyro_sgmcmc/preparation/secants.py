"""A Gaussian approximation by secants, for densities whose Hessian misses their kinks."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.preparation import row_sums
from numpyro_sgmcmc.preparation.axes import principal_axes
from numpyro_sgmcmc.preparation.mode import Mode, mode_at
from numpyro_sgmcmc.preparation.start_thresholds import (
    CENTRED,
    HIDDEN_CURVATURE,
    SCORED_ROWS,
    SECANT_ROWS,
    SECANT_STEPS,
    SECANTS_AGREE,
    SMALLEST_SECANT,
)
from numpyro_sgmcmc.preparation.target import Target, View
from numpyro_sgmcmc.preparation.thresholds import HESSIAN_COLUMNS
from numpyro_sgmcmc.types import Minibatch


def with_secants(target: Target, mode: Mode, key: jax.Array) -> Mode | None:
    """Return a mode whose curvature is that of secants, or None where the Hessian misses nothing.

    Where a density has kinks (Laplace densities, quantile regression) its second derivative is zero
    almost everywhere. The log likelihood of a row, l, still has E[s s'] = E[-l''] for its gradient
    s, if the model is that of the data. J is the sum of s s' over the rows, about the mean of s.
    Curvature is hidden where J exceeds the Hessian by far. Its size follows from secants R' H R,
    with the columns r of a root R (R R' is the approximation's covariance) one after the other:

        H r = (grad U(z + t r) - grad U(z - t r)) / (2 t).

    Here t = 1 with all N rows, and t = sqrt(N / n) with n of them, because the posterior of n rows
    is wider by that factor. All secants use the same rows. The first R has the width that J says,
    and each of the next ones that of the last secants, until they agree. Each time the point moves
    by Newton's step, or half as far where U would increase.

    Args:
        target: the model bound to its data, with one subsampled plate; else the result is None.
        mode: where a search ended; its Hessian is known.
        key: of rows.

    Returns:
        A point near the mode, whose Hessian is that of the secants.
    """
    if len(target.structure.plates) != 1 or isinstance(mode.position, Tracer):
        return None
    key_scores, key_secants = random.keys_of(key, 2)
    scores = np.asarray(target.run(_score_matrix, mode.position, key_scores), np.float64)
    hessian = np.asarray(mode.hessian, np.float64)
    if not (np.all(np.isfinite(scores)) and np.all(np.isfinite(hessian))):
        return None
    axes = principal_axes(mode.hessian)
    root = np.asarray(axes.root(axes.curvatures), np.float64)
    curvatures, vectors = np.linalg.eigh(root.T @ scores @ root)
    if curvatures[-1] < HIDDEN_CURVATURE:
        return None
    root = root @ vectors / np.sqrt(np.maximum(curvatures, 1.0))
    position, best = mode.position, None
    for _ in range(SECANT_STEPS):
        energy, gradient = target.total(View.value_and_grad, row_sums.value_and_grad, position)
        columns = jnp.asarray(root, position.dtype)
        curved = target.run(_secants, position, columns, key_secants)
        is_finite = all(np.all(np.isfinite(x)) for x in (energy, gradient, curved))
        if best is None and not is_finite:
            return None
        if best is not None and not (is_finite and energy <= best.potential_energy):
            position = (best.position + position) / 2  # A step that went too far.
            continue
        found, turn = np.linalg.eigh(np.asarray(curved, np.float64))
        found = np.maximum(found, SMALLEST_SECANT)
        back = np.linalg.solve(root.T, turn * np.sqrt(found))
        curvature = jnp.asarray(back @ back.T, position.dtype)
        best = mode_at(position, energy, gradient, curvature)
        if found[0] > 1 / SECANTS_AGREE and found[-1] < SECANTS_AGREE and best.distance < CENTRED:
            return best
        root = root @ turn / np.sqrt(found)
        position = position - jnp.asarray(root @ (root.T @ np.asarray(gradient)), position.dtype)
    return best


def _score_matrix(view: View, position: jax.Array, key: jax.Array) -> jax.Array:
    """Return J from a sample of rows, (d, d).

    The gradient of a minibatch of one row is g = p - N s, with p that of the prior, so that the
    covariance of g over rows is N^2 times that of s, and N times J.
    """
    ((name, plate),) = view.plates.items()
    found = view.row_gradients(position, view.many_rows(key, SCORED_ROWS).indices[name])
    found = (found - found.mean(0)) / plate.size**0.5
    return found.T @ found / len(found)


def _secants(view: View, position: jax.Array, root: jax.Array, key: jax.Array) -> jax.Array:
    """Return the curvature by secants along the columns of a root R, R' H R."""
    rows = view.many_rows(key, max(SECANT_ROWS // (2 * position.size), 1))
    push, pull = (lambda x: root @ x), (lambda x: root.T @ x)
    return secants_along(view, position, rows, push, pull, position.size)


def secants_along(
    view: View,
    position: jax.Array,
    rows: Minibatch,
    push: Callable[[jax.Array], jax.Array],
    pull: Callable[[jax.Array], jax.Array],
    size: int,
) -> jax.Array:
    """Return the curvature by secants along the columns of a root R, R' H R, (k, k).

    Args:
        view: of a model with one subsampled plate.
        position: (d,).
        rows: some rows, or all of them.
        push: from x, (k,), to R x, (d,); columns are as long as standard deviations.
        pull: from z, (d,), to R' z, (k,).
        size: k.
    """
    ((name, plate),) = view.plates.items()
    reach = (plate.size / len(rows.indices[name])) ** 0.5

    def slope(position: jax.Array) -> jax.Array:
        return jax.grad(view.potential)(position, rows)

    def column(one: jax.Array) -> jax.Array:
        away = reach * push(one)
        return pull(slope(position + away) - slope(position - away)) / (2 * reach)

    found = jax.lax.map(column, jnp.eye(size, dtype=position.dtype), batch_size=HESSIAN_COLUMNS)
    return (found + found.T) / 2


def is_small(own: np.ndarray) -> np.ndarray:
    """Return where a fit's curvature by second derivatives, 1 on average, is far too small."""
    return HIDDEN_CURVATURE * np.abs(own) < 1


def misses_kinks(own: np.ndarray, by_secants: np.ndarray) -> bool:
    """Return whether second derivatives miss curvature of a coordinate that secants see.

    In a network both may be small, because the fit itself is not at its optimum.

    Args:
        own: averaged curvatures in units of a fit's standard deviations, (d,).
        by_secants: the same by secants, (d,).
    """
    return bool(
        np.any(
            is_small(own) & (by_secants > HIDDEN_CURVATURE * np.abs(own)) & ~is_small(by_secants)
        )
    )
