"""A Gaussian approximation by secants, for densities whose Hessian misses their kinks."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.minibatch import uniform_rows
from numpyro_sgmcmc.preparation import row_sums
from numpyro_sgmcmc.preparation.axes import principal_axes
from numpyro_sgmcmc.preparation.mode import Mode, mode_at
from numpyro_sgmcmc.preparation.target import Target, View
from numpyro_sgmcmc.preparation.thresholds import (
    CENTRED,
    HESSIAN_COLUMNS,
    HIDDEN_CURVATURE,
    ROWS_AT_ONCE,
    SCORED_ROWS,
    SECANT_ROWS,
    SECANT_STEPS,
    SECANTS_AGREE,
    SMALLEST_SECANT,
)
from numpyro_sgmcmc.types import Minibatch


def with_secants(target: Target, mode: Mode, key: jax.Array) -> Mode | None:
    """Return a mode whose curvature is that of secants, or None where the Hessian misses nothing.

    Where a density has kinks (Laplace densities, quantile regression) its second derivative is zero
    almost everywhere. The log likelihood of a row, l, still has E[s s'] = E[-l''] for its gradient
    s, if the model is that of the data. J, the sum of s s' about their mean over the rows, shows
    where curvature is hidden: where it exceeds that of the Hessian by far. How large it is follows
    from secants over one standard deviation to either side, first by J, then by the secants
    themselves: differences of gradients, column by column. With n of N rows they reach
    sqrt(N / n) as far, as the posterior of n rows does. Each time the point moves by Newton's step,
    or half as far where U would increase, until the secants agree with the last ones.

    Args:
        target: the model bound to its data, with one subsampled plate; else the result is None.
        mode: where a search ended; its Hessian is known.
        key: of rows.
    """
    if len(target.structure.plates) != 1 or isinstance(mode.position, Tracer):
        return None
    key_scores, key_secants = random.keys_of(key, 2)
    scores = np.asarray(target.run(_information, mode.position, key_scores), np.float64)
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
        inputs = position, jnp.asarray(root, position.dtype), key_secants
        energy, gradient, secants = target.run(_secants, *inputs)
        is_finite = all(np.all(np.isfinite(x)) for x in (energy, gradient, secants))
        if best is None and not is_finite:
            return None
        if best is not None and not (is_finite and energy <= best.potential_energy):
            position = (best.position + position) / 2  # A step that went too far.
            continue
        found, turn = np.linalg.eigh(np.asarray(secants, np.float64))
        found = np.maximum(found, SMALLEST_SECANT)
        back = np.linalg.solve(root.T, turn * np.sqrt(found))
        curvature = jnp.asarray(back @ back.T, position.dtype)
        best = mode_at(position, energy, gradient, curvature)
        if found[0] > 1 / SECANTS_AGREE and found[-1] < SECANTS_AGREE and best.distance < CENTRED:
            return best
        root = root @ turn / np.sqrt(found)
        position = position - jnp.asarray(root @ (root.T @ np.asarray(gradient)), position.dtype)
    return best


def _information(view: View, position: jax.Array, key: jax.Array) -> jax.Array:
    """Return the sum over all rows of s s' about its mean, from a sample of rows, (d, d).

    The gradient of a minibatch of one row is g = N s + p, with p that of the prior, so that the
    covariance of g over rows is N times the sum.
    """
    ((name, plate),) = view.plates.items()
    rows = _sample(view, key, SCORED_ROWS)[name]
    own = jax.random.key(0) if view.structure.is_random else None

    def of_row(row: jax.Array) -> jax.Array:
        return jax.grad(view.potential)(position, Minibatch({name: row[None]}, own))

    found = jax.lax.map(of_row, rows, batch_size=ROWS_AT_ONCE)
    found = (found - found.mean(0)) / plate.size**0.5
    return found.T @ found / len(rows)


def _secants(view: View, position: jax.Array, root: jax.Array, key: jax.Array) -> Any:
    """Return U, grad U and the curvature by secants along the columns of a root R, R' H R."""
    ((name, plate),) = view.plates.items()
    rows = _sample(view, key, max(SECANT_ROWS // (2 * position.size), 1))
    reach = (plate.size / len(rows[name])) ** 0.5
    own = jax.random.key(0) if view.structure.is_random else None

    def slope(position: jax.Array) -> jax.Array:
        return jax.grad(view.potential)(position, Minibatch(rows, own))

    def column(direction: jax.Array) -> jax.Array:
        away = reach * direction
        return root.T @ (slope(position + away) - slope(position - away)) / (2 * reach)

    found = jax.lax.map(column, root.T, batch_size=HESSIAN_COLUMNS)
    return *view.total(row_sums.value_and_grad, position), (found + found.T) / 2


def _sample(view: View, key: jax.Array, most: int) -> dict[str, jax.Array]:
    """Return all rows of the one plate, or a sample of so many."""
    ((name, plate),) = view.plates.items()
    if plate.size <= most:
        return {name: jnp.arange(plate.size)}
    return {name: uniform_rows(key, (most,), plate.size)}
