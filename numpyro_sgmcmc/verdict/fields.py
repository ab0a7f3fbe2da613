"""Vector fields along which Stein's identity speaks of one coordinate's moments."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.preconditioner import Coupled, Diagonal
from numpyro_sgmcmc.preparation import rescaled
from numpyro_sgmcmc.subspace import Group, Subspace
from numpyro_sgmcmc.verdict.regression import slopes
from numpyro_sgmcmc.verdict.thresholds import DRAWS_BY_DIMENSION


class Fields(NamedTuple):
    """For coordinate i the constant field w with w_i = 1 along which its derivative is taken.

    For a Gaussian with covariance C and w = C e_i / C_ii the derivative of U / T along w is a
    function of coordinate i alone, so that coordinate's moments are known without error.

    For a further function a'z of the position it is w = C a / (a' C a), with a'w = 1.

    Attributes:
        covariance: C, (d, d); None in high dimension.
        root: a square root of the draws' covariance, None likewise.
        linear: in high dimension a map S with C = S S', a `Diagonal` one for the coordinates' own
            directions.
    """

    covariance: np.ndarray | None = None
    root: np.ndarray | None = None
    linear: Any = None

    def along(self, gradients: np.ndarray, further: np.ndarray) -> np.ndarray:
        """Return the derivatives along the fields, (n, d + k).

        Args:
            gradients: (n, d).
            further: functions a of the position as columns, (d, k).
        """
        if self.covariance is not None:
            own = gradients @ (self.covariance / np.diag(self.covariance))
            moved = self.covariance @ further
        else:
            own = gradients
            if isinstance(self.linear, Coupled):
                own = np.asarray(_coupled_derivatives(self.linear, jnp.asarray(gradients)), float)
            moved = np.asarray(_images(self.linear, jnp.asarray(further)), np.float64)
        return np.concatenate([own, gradients @ (moved / np.sum(further * moved, axis=0))], axis=1)

    def curvature(self) -> np.ndarray:
        """Return the Hessian of U / T of a Gaussian of this covariance."""
        assert self.covariance is not None
        inverse = np.linalg.inv(self.covariance)
        return (inverse + inverse.T) / 2


def dense_fields(
    covariance: np.ndarray, draws: np.ndarray, gradients: np.ndarray, weights: np.ndarray
) -> Fields:
    """Return the fields of the covariance that a Gaussian with these gradients has.

    That is the inverse of the gradients' regression on the draws: exact for a Gaussian, whatever
    the draws' distribution. The draws' own covariance where the regression is not positive.

    Args:
        covariance: of the draws, (d, d).
        draws: some of them, about their mean, (n, d).
        gradients: of U / T there, (n, d).
        weights: of these draws, (n,), with sum 1.
    """
    scale = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(scale, scale)
    root = scale[:, None] * np.linalg.cholesky(correlation + 1e-9 * np.eye(len(scale)))
    y = np.linalg.solve(root, draws.T).T
    fitted = slopes(y - weights @ y, gradients @ root, weights)
    curvatures, axes = np.linalg.eigh((fitted + fitted.T) / 2)
    if not curvatures[0] > 0:
        return Fields(covariance, root)
    half = root @ (axes / np.sqrt(curvatures))
    return Fields(half @ half.T, root)


def coupled_fields(
    groups: tuple[Group, ...], draws: np.ndarray, scale: np.ndarray, weights: np.ndarray
) -> Fields:
    """Return the fields of a covariance at O(d): scales, and a matrix for a few directions.

    These are the coordinates' own directions where there are too few draws for the matrix.

    Args:
        groups: of the coordinates.
        draws: about their mean, (n, d).
        scale: their standard deviations, (d,).
        weights: of the draws, (n,), with sum 1.
    """
    unit = jnp.asarray(scale)
    subspace = Subspace.of(groups, 1 / unit)
    if len(draws) < DRAWS_BY_DIMENSION * subspace.size:
        return Fields(linear=Diagonal(unit))
    inside, outside = _moments(subspace, jnp.asarray(draws), unit, jnp.asarray(weights))
    matrix = np.asarray(inside, np.float64)
    # Chains that hardly move span few directions, and single precision leaves eigenvalues below 0.
    lift = 1e-6 + 2 * max(0.0, -np.linalg.eigvalsh(matrix)[0])
    matrix += lift * np.eye(subspace.size)
    share = np.asarray(subspace.diagonal_outside(jnp.ones_like(unit)), np.float64)
    rest = np.where(share > 0, np.asarray(outside, np.float64) / np.where(share > 0, share, 1), 1.0)
    plain = Coupled(unit, subspace, jnp.eye(subspace.size), jnp.ones_like(unit))
    return Fields(linear=rescaled(plain, np.sqrt(rest), np.linalg.cholesky(matrix)))


@jax.jit
def _moments(
    subspace: Subspace, draws: jax.Array, unit: jax.Array, weights: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Return second moments of standardised draws within the subspace, and outside of it."""

    def add(total: Any, inputs: Any) -> tuple[Any, None]:
        draw, weight = inputs
        c = subspace.coordinates(draw / unit)
        rest = draw / unit - subspace.vector(c)
        return (total[0] + weight * jnp.outer(c, c), total[1] + weight * rest**2), None

    nothing = jnp.zeros((subspace.size, subspace.size), unit.dtype), jnp.zeros_like(unit)
    return jax.lax.scan(add, nothing, (draws, weights))[0]


@jax.jit
def _images(linear: Any, columns: jax.Array) -> jax.Array:
    """Return S S' a for each column a."""
    return jax.vmap(lambda a: linear.apply(linear.transpose(a)), 1, 1)(columns)


@jax.jit
def _coupled_derivatives(coupled: Coupled, gradients: jax.Array) -> jax.Array:
    subspace = coupled.subspace
    ones = jnp.ones_like(coupled.outer)
    inside = subspace.squares(jnp.sum(coupled.factor**2, axis=1))
    variances = coupled.outer**2 * (subspace.diagonal_outside(ones) + inside)
    return jax.vmap(lambda g: coupled.apply(coupled.transpose(g)))(gradients) / variances
