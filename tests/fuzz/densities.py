"""Densities of one variable: energies for JAX, and moments by quadrature in double precision.

An energy has two numbers, (a, b), so that the density of a coordinate is data of one program.
"""

from functools import cache
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

NORMAL, STUDENT, LOG_GAMMA, LOGIT_BETA, LAPLACE, MIXTURE, QUARTIC, TWO_PIECE = range(8)
SMOOTH_UNIMODAL = (NORMAL, STUDENT, LOG_GAMMA, LOGIT_BETA)
KINDS = len((NORMAL, STUDENT, LOG_GAMMA, LOGIT_BETA, LAPLACE, MIXTURE, QUARTIC, TWO_PIECE))

RANGES = {
    NORMAL: ((1.0, 1.0), (1.0, 1.0)),
    STUDENT: ((4.5, 12.0), (1.0, 1.0)),  # degrees of freedom: an sd's error needs four moments
    LOG_GAMMA: ((0.5, 6.0), (1.0, 1.0)),  # shape
    LOGIT_BETA: ((0.6, 5.0), (0.6, 5.0)),
    LAPLACE: ((1.0, 1.0), (1.0, 1.0)),
    MIXTURE: ((0.8, 1.8), (0.3, 0.7)),  # half the distance of the modes, weight of the right one
    QUARTIC: ((0.3, 2.0), (1.0, 1.0)),
    TWO_PIECE: ((0.4, 1.0), (1.0, 2.0)),  # sd on the left, sd on the right
}
"""From where (a, b) are drawn."""


def energies(u, a, b, kinds=range(KINDS), xp=jnp):
    """Return the energies of these kinds at u, stacked along a first axis."""

    def mixture():
        right = xp.log(b) - (u - a) ** 2 / 2
        # Outside MIXTURE b may exceed 1; the other branch is not selected and must stay finite.
        left = xp.log(xp.maximum(1 - b, 1e-6)) - (u + a) ** 2 / 2
        return -xp.logaddexp(right, left)

    formulas = {
        NORMAL: lambda: u**2 / 2,
        STUDENT: lambda: (a + 1) / 2 * xp.log1p(u**2 / a),
        LOG_GAMMA: lambda: xp.exp(xp.minimum(u, 80.0)) - a * u,
        LOGIT_BETA: lambda: (a + b) * xp.logaddexp(u, 0.0 * u) - a * u,
        LAPLACE: lambda: xp.abs(u),
        MIXTURE: mixture,
        QUARTIC: lambda: a * u**4 / 4,
        TWO_PIECE: lambda: u**2 / 2 / xp.where(u < 0, a, b) ** 2,
    }
    return xp.stack([formulas[kind]() for kind in kinds])


def energy(kind, u, a, b, kinds=range(KINDS)):
    """Return the energies of coordinates (d,) of kinds (d,), which are among `kinds`, for JAX."""
    chosen = kind == jnp.asarray(kinds)[:, None]
    return jnp.sum(jnp.where(chosen, energies(u, a, b, kinds), 0.0), axis=0)


class Table(NamedTuple):
    """A density on a grid: its mean and standard deviation, and its distribution function."""

    mean: float
    sd: float
    grid: np.ndarray
    cumulative: np.ndarray

    def draws(self, rng, shape):
        """Return independent draws."""
        return np.interp(rng.random(shape), self.cumulative, self.grid)


@cache
def table(kind, a, b, temperature=1.0):
    """Return the table of the density exp(-energy / temperature)."""
    s = np.linspace(-9, 9, 40_001)
    grid, jacobian = np.sinh(s), np.cosh(s)  # to 4,000, where a Student t has nothing left
    with np.errstate(over="ignore"):
        values = energies(grid, np.full_like(grid, a), np.full_like(grid, b), (kind,), np)[0]
    return tabulated(grid, -values / temperature + np.log(jacobian))


def tabulated(grid, log_mass):
    """Return the table of a density from the log of its mass at points of a fine grid."""
    mass = np.exp(log_mass - log_mass.max())
    mass /= mass.sum()
    mean = mass @ grid
    cumulative = np.cumsum(mass) - mass / 2
    return Table(float(mean), float(np.sqrt(mass @ (grid - mean) ** 2)), grid, cumulative)
