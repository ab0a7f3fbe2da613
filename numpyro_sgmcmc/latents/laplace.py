"""Gaussian approximations of the latents of each row, given the shared parameters."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.latents.state import ROWS_AT_ONCE
from numpyro_sgmcmc.model.local import JointPotential

STEPS = 30
"""Damped Newton steps of a row. One that is refused multiplies the damping by four."""

SMALLEST = 1e-3
"""Smallest curvature, as a share of the largest one of the row."""

LONGEST = 10.0
"""Longest Newton step, in standard deviations along an axis."""


class RowMode(NamedTuple):
    """A mode of the latents of each row.

    Attributes:
        latents: a_i, (N, k).
        factor: L with L L' the inverse of the curvature there, (N, k, k).
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

    Discrete latents are given, (rows, m). The search begins at `start`, (rows, k). Levenberg and
    Marquardt's damped Newton method minimises u_i(z, .) in so many steps. Where the curvature is
    not positive its modulus takes its place, raised to a small share of the largest one.
    """

    def of_row(inputs: tuple[jax.Array, jax.Array, jax.Array]) -> RowMode:
        first, row, given = inputs
        energy = lambda latents: potential.row(position, latents, row, given)[0]  # noqa: E731
        return _mode(energy, first, steps)

    if discrete is None:
        discrete = potential.structure.local.some_discrete(len(start))
    inputs = start, jnp.arange(len(start)) if rows is None else rows, discrete
    return jax.lax.map(of_row, inputs, batch_size=min(ROWS_AT_ONCE, len(start)))


def _mode(energy: Callable[[jax.Array], jax.Array], start: jax.Array, steps: int) -> RowMode:
    def derivatives(latents: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        value, gradient = jax.value_and_grad(energy)(latents)
        return value, gradient, jax.hessian(energy)(latents)

    def body(_: jax.Array, carry: tuple) -> tuple:
        latents, value, gradient, hessian, damping = carry
        curvatures, axes = _axes(hessian)
        along = axes.T @ gradient
        step = along / (curvatures + damping)
        longest = LONGEST / jnp.sqrt(curvatures)
        tried = latents - axes @ jnp.clip(step, -longest, longest)
        new = derivatives(tried)
        finite = (
            jnp.isfinite(new[0]) & jnp.all(jnp.isfinite(new[1])) & jnp.all(jnp.isfinite(new[2]))
        )
        # The first point counts as worse than any other if it is not finite itself.
        better = finite & ((new[0] <= value) | ~jnp.isfinite(value))
        kept = jax.tree.map(
            lambda a, b: jnp.where(better, a, b), (tried, *new), (latents, value, gradient, hessian)
        )
        least = SMALLEST * jnp.max(curvatures)
        damping = jnp.where(better, damping / 4, jnp.maximum(4 * damping, least))
        return *kept, damping

    zero = jnp.zeros((), start.dtype)
    carry = (start, *derivatives(start), zero)
    latents, _, _, hessian, _ = jax.lax.fori_loop(0, steps, body, carry)
    curvatures, axes = _axes(hessian)
    return RowMode(latents, axes / jnp.sqrt(curvatures))


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
