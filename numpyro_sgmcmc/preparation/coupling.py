"""Coupled maps: the posterior's covariance at O(d) in high dimension.

A model with many parameters often has a few that all rows share (intercepts, scales, coefficients)
and long plates of effects. Given the former and the plates' means, effects are nearly independent.
The slowest directions move a shared parameter against the mean of a plate. `Coupled` maps treat the
shared parameters and these means together by a dense matrix, and the rest by scales.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.model import Structure
from numpyro_sgmcmc.preconditioner import AbstractLinearMap, Coupled, Diagonal
from numpyro_sgmcmc.preparation import row_sums
from numpyro_sgmcmc.preparation.secants import is_small, misses_kinks, secants_along
from numpyro_sgmcmc.preparation.target import Target, View
from numpyro_sgmcmc.preparation.thresholds import (
    AVERAGED_DRAWS,
    AVERAGED_ROWS,
    FEW_PARAMETERS,
    MOST_COLUMNS,
    SHARED_PARAMETERS,
)
from numpyro_sgmcmc.subspace import Group, Subspace


def groups_of(structure: Structure) -> tuple[Group, ...]:
    """Return the groups of a model's coordinates: shared parameters, and arrays of effects.

    Sites of few parameters are shared, from the smallest on as long as there are few of them in
    all. A larger site is an array of effects along its first axis, with a mean for each column.
    """
    shapes = [np.shape(leaf) for leaf in jax.tree.leaves(structure.prototype)]
    sizes = np.array([int(np.prod(shape)) for shape in shapes])
    order = np.argsort(sizes, kind="stable")
    total = np.empty_like(sizes)
    total[order] = np.cumsum(sizes[order])
    groups = []
    for shape, size, so_far in zip(shapes, sizes.tolist(), total, strict=True):
        if size <= FEW_PARAMETERS and so_far <= SHARED_PARAMETERS:
            groups.append(Group(size, size))
        else:
            columns = int(np.prod(shape[1:]))
            directions = columns if columns <= MOST_COLUMNS else 1
            # A row alone has no mean: it would be one more shared parameter.
            groups.append(Group(size, directions if directions < size else 0))
    return tuple(groups)


def coupled(target: Target, centre: jax.Array, scale: jax.Array) -> Coupled:
    """Return the coupled map for an approximation by independent Gaussians, N(centre, scale^2).

    The inverse of the Hessian at the centre, restricted to the directions, is their covariance.
    Along a shared parameter the Hessian of such a fit is 1 on average. Where it is far smaller, it
    misses the curvature of kinks, and secants measure that.
    """
    groups = groups_of(target.structure)
    subspace = Subspace.of(groups, 1 / scale)
    rows = row_sums.restricted_hessian
    found = target.total(_restricted_hessian, rows, centre, scale, subspace)
    shared = np.concatenate([np.full(g.directions, g.directions == g.size) for g in groups])
    if len(target.structure.plates) == 1 and np.any(
        is_small(np.diagonal(np.asarray(found))[shared])
    ):
        # At the centre alone it may differ from its average, which the fit has.
        smooth, secants = target.run(_averaged, centre, scale, subspace, jax.random.key(9))
        own = (np.diagonal(np.asarray(x))[shared] for x in (smooth, secants))
        found = secants if misses_kinks(*own) else found
    hessian = np.asarray(found, np.float64)
    factor = np.eye(len(hessian))
    if np.all(np.isfinite(hessian)):
        values, axes = np.linalg.eigh((hessian + hessian.T) / 2)
        # A direction without positive curvature keeps the scale of the independent Gaussians.
        known = values > 1e-6 * np.abs(values).max()
        factor = axes / np.sqrt(np.where(known, values, 1.0))
    return Coupled(scale, subspace, jnp.asarray(factor, scale.dtype), jnp.ones_like(scale))


def rescaled(spread: AbstractLinearMap, outside: np.ndarray, inside: Any) -> AbstractLinearMap:
    """Return the map S K for K = diag(outside), and a matrix `inside` in the directions of S.

    Args:
        spread: S, diagonal or coupled, without inner scales.
        outside: positive factors of coordinates, (d,).
        inside: (r, r); None if S is diagonal.
    """
    if isinstance(spread, Diagonal):
        return Diagonal(spread.scale * jnp.asarray(outside, spread.scale.dtype))
    assert isinstance(spread, Coupled)
    dtype, subspace = spread.outer.dtype, spread.subspace
    # New scales also multiply the directions, which they should not.
    mean = np.sqrt(np.asarray(subspace.means(jnp.asarray(outside**2, dtype)), np.float64))
    factor = np.asarray(spread.factor, np.float64) @ inside / mean[:, None]
    outer = spread.outer * jnp.asarray(outside, dtype)
    return Coupled(outer, subspace, jnp.asarray(factor, dtype), spread.inner)


def _restricted_hessian(
    view: View, centre: jax.Array, scale: jax.Array, subspace: Subspace
) -> jax.Array:
    """Return P' D H D P at the centre, (r, r), in one pass over the data; D = diag(scale)."""
    return view.total(row_sums.restricted_hessian, centre, scale, subspace)


def _averaged(
    view: View, centre: jax.Array, scale: jax.Array, subspace: Subspace, key: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Return P' D H D P, (r, r), averaged over draws of the fit, and the same by secants."""
    key_draws, *keys = random.split(key, AVERAGED_DRAWS + 1)
    noise = random.normal(key_draws, (AVERAGED_DRAWS, centre.size), centre.dtype)

    def push(one: jax.Array) -> jax.Array:
        return scale * subspace.vector(one)

    def pull(gradient: jax.Array) -> jax.Array:
        return subspace.coordinates(scale * gradient)

    def at(point: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        position, key = point
        rows = view.many_rows(key, AVERAGED_ROWS)
        smooth = row_sums.restricted_hessian(view, rows, position, scale, subspace)
        return smooth, secants_along(view, position, rows, push, pull, subspace.size)

    found = jax.lax.map(at, (centre + scale * noise, jnp.stack(keys)))
    return found[0].mean(0), found[1].mean(0)
