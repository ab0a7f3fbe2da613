"""Gaussian approximations of the latents of each row, given the shared parameters."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.latents.blocks import in_blocks
from numpyro_sgmcmc.model.local import JointPotential

STEPS = 30
"""Most damped Newton steps of a row. One that is refused multiplies the damping by four."""

ARRIVED = 1e-3
"""Distance to the mode in standard deviations at which the search ends. Metropolis-Hastings moves
follow."""

ROUNDING = 10.0
"""The search ends if a step is expected to reduce u_i by less than this many of its rounding
errors."""

SMALLEST = 1e-3
"""Smallest curvature, as a share of the largest one of the row."""

LONGEST = 10.0
"""Longest Newton step, in standard deviations along an axis."""


RISE = 4.0
"""Most that u_i may rise over the length of an axis, one standard deviation, where a Gaussian rises
by 1/2. An axis along which it rises more is halved: near a point of inflection its curvature says
nothing."""

HALVINGS = 20
"""How often an axis is halved at most."""


class _Point(NamedTuple):
    """Latents of a row, with u_i, its gradient along the axes of its curvature, and these."""

    latents: jax.Array
    energy: jax.Array
    along: jax.Array
    curvatures: jax.Array
    axes: jax.Array
    is_finite: jax.Array


class RowMode(NamedTuple):
    """A mode of the latents of each row.

    Attributes:
        latents: a_i, (N, k).
        factor: L with L L' the inverse of the curvature there, (N, k, k); shorter along axes on
            which u_i rises much faster than a Gaussian.
    """

    latents: jax.Array
    factor: jax.Array


def laplace_rows(
    potential: JointPotential,
    position: jax.Array,
    start: jax.Array,
    rows: jax.Array | None = None,
    steps: int = STEPS,
    discrete: jax.Array | None = None,
) -> RowMode:
    """Return the Laplace approximation of p(a_i | z, y_i) of all or some rows.

    `discrete` holds the values of discrete latents, (rows, m). The search begins at `start`, (rows,
    k). The damped Newton method of Levenberg and Marquardt minimises u_i(z, .) in at most `steps`
    steps. Curvatures are replaced by their moduli, and those below a small share of the largest one
    by that share.
    """

    @jax.vmap
    def of_rows(first: jax.Array, row: jax.Array, given: jax.Array) -> RowMode:
        energy = lambda latents: potential.row(position, latents, row, given)[0]  # noqa: E731
        return _mode(energy, first, steps)

    local, size = potential.structure.local, len(start)
    given = local.some_discrete(size) if discrete is None else discrete
    return in_blocks(of_rows, start, jnp.arange(size) if rows is None else rows, given)


def _mode(energy: Callable[[jax.Array], jax.Array], start: jax.Array, steps: int) -> RowMode:
    slack = ROUNDING * float(jnp.finfo(start.dtype).eps)

    def point_at(latents: jax.Array) -> _Point:
        value, gradient = jax.value_and_grad(energy)(latents)
        hessian = jax.hessian(energy)(latents)
        finite = jnp.all(jnp.isfinite(gradient)) & jnp.all(jnp.isfinite(hessian))
        curvatures, axes = _axes(hessian)
        along = axes.T @ gradient
        return _Point(latents, value, along, curvatures, axes, jnp.isfinite(value) & finite)

    def goes_on(carry: tuple[_Point, jax.Array, jax.Array]) -> jax.Array:
        point, _, number = carry
        squared = jnp.sum(point.along**2 / point.curvatures)  # Twice what a step gains.
        is_there = squared <= jnp.maximum(ARRIVED**2, slack * jnp.abs(point.energy))
        return (number < steps) & ~(point.is_finite & is_there)

    def body(carry: tuple[_Point, jax.Array, jax.Array]) -> tuple[_Point, jax.Array, jax.Array]:
        point, damping, number = carry
        step = point.along / (point.curvatures + damping)
        longest = LONGEST / jnp.sqrt(point.curvatures)
        tried = point_at(point.latents - point.axes @ jnp.clip(step, -longest, longest))
        # The first point counts as worse than any other if it is not finite itself.
        lower = (tried.energy <= point.energy) | ~jnp.isfinite(point.energy)
        better = tried.is_finite & lower
        kept = jax.tree.map(lambda a, b: jnp.where(better, a, b), tried, point)
        least = SMALLEST * jnp.max(point.curvatures)
        damping = jnp.where(better, damping / 4, jnp.maximum(4 * damping, least))
        return kept, damping, number + 1

    carry = point_at(start), jnp.zeros((), start.dtype), jnp.zeros((), jnp.int32)
    found = jax.lax.while_loop(goes_on, body, carry)[0]
    return RowMode(found.latents, _shortened(energy, found))


def _shortened(energy: Callable[[jax.Array], jax.Array], point: _Point) -> jax.Array:
    """Return axes one standard deviation long, halved until u_i rises little along them."""

    def is_far(axes: jax.Array) -> jax.Array:
        """Return for each axis whether u_i rises too much at either of its ends, (k,)."""
        ends = point.latents + jnp.concatenate([axes.T, -axes.T])
        # One after the other: rows with many latents and long data would take much memory.
        rises = jax.lax.map(energy, ends) - point.energy
        return jnp.any(~(rises <= RISE).reshape(2, -1), axis=0) & point.is_finite

    def goes_on(carry: tuple[jax.Array, jax.Array, jax.Array]) -> jax.Array:
        _, far, number = carry
        return jnp.any(far) & (number < HALVINGS)

    def body(
        carry: tuple[jax.Array, jax.Array, jax.Array],
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        axes, far, number = carry
        axes = jnp.where(far, axes / 2, axes)
        return axes, is_far(axes), number + 1

    axes = point.axes / jnp.sqrt(point.curvatures)
    return jax.lax.while_loop(goes_on, body, (axes, is_far(axes), jnp.zeros((), jnp.int32)))[0]


def _axes(hessian: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return curvatures, the moduli of eigenvalues raised to a floor, and their axes."""
    if hessian.shape == (1, 1):
        curvatures, axes = jnp.abs(hessian[0]), jnp.ones_like(hessian)
    else:
        finite = jnp.where(jnp.isfinite(hessian), hessian, 0.0)
        values, axes = jnp.linalg.eigh((finite + finite.T) / 2)
        curvatures = jnp.abs(values)
    largest = jnp.max(curvatures)
    floor = jnp.where(largest > 0, SMALLEST * largest, 1.0)
    return jnp.maximum(jnp.nan_to_num(curvatures, nan=1.0), floor), axes
