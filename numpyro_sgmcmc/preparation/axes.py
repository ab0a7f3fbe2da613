"""Principal axes of a Hessian whose parameters are on different scales."""

from typing import NamedTuple

import jax
import jax.numpy as jnp


class Axes(NamedTuple):
    """Principal axes of a Hessian H, with the units D = 1 / sqrt(|H_ii|).

    Attributes:
        curvatures: eigenvalues of D H D, ascending, (d,).
        vectors: its eigenvectors, the columns of (d, d).
        unit: D, (d,).
    """

    curvatures: jax.Array
    vectors: jax.Array
    unit: jax.Array

    @property
    def floor(self) -> jax.Array:
        """The curvature below which rounding errors may be all of it."""
        return 10 * jnp.finfo(self.unit.dtype).eps * jnp.max(jnp.abs(self.curvatures))

    def root(self, curvatures: jax.Array) -> jax.Array:
        """Return R with R R' the inverse of the Hessian that has these curvatures, (d, d).

        A direction without measurable positive curvature gets the unit as standard deviation.
        """
        sound = curvatures > self.floor
        scale = jnp.where(sound, jax.lax.rsqrt(jnp.where(sound, curvatures, 1.0)), 1.0)
        return self.unit[:, None] * self.vectors * scale


# Compiled as a whole, because compiling each operation alone takes longer.
@jax.jit
def principal_axes(hessian: jax.Array) -> Axes:
    """Return the eigenvalues and eigenvectors of a Hessian in coordinates of curvature 1.

    In these coordinates parameters on scales that differ by many orders of magnitude have
    eigenvalues that floating-point numbers can tell apart.
    """
    own = jnp.abs(jnp.diagonal(hessian))
    unit = jnp.where(own > 0, jax.lax.rsqrt(jnp.where(own > 0, own, 1.0)), 1.0)
    curvatures, vectors = jnp.linalg.eigh(unit[:, None] * hessian * unit)
    return Axes(curvatures, vectors, unit)
