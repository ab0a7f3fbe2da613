"""A Gaussian model with more shared parameters than have a table, and its exact recursion."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

DIMENSION, SPREAD = 301, 0.2**0.5
Y = np.array([-1.1, 0.3, 0.9, 2.2, 0.1, 1.4])


def wide(y, batch=1, dimension=DIMENSION):
    """Rows depend on the first parameter; the others have their prior."""
    theta = numpyro.sample("theta", dist.Normal(jnp.zeros(dimension), 1.0).to_event(1))
    with numpyro.plate("rows", len(y), subsample_size=batch) as i:
        a = numpyro.sample("a", dist.Normal(theta[0], SPREAD))
        numpyro.sample("y", dist.Normal(a, 1.0), obs=y[i])


class Exact(NamedTuple):
    """Of the first parameter: posterior mean and variance, and the stationary ones of SGLD.

    Attributes:
        mean: of the posterior.
        variance: of the posterior.
        found_mean: of the chain.
        found_variance: of the chain.
    """

    mean: float
    variance: float
    found_mean: float
    found_variance: float


def stationary(h, keeps, share_after=0.5, y=Y):
    """Return the exact moments of SGLD whose moves of a latent keep a share of its deviation.

    The state is the first parameter z and the latents a_i, and a minibatch is one row. A move is
    a' = m(z) + r (a - m(z)) + sqrt(1 - r^2) s x with p(a_i | z, y_i) = N(m(z), s^2), and the step

        z' = z - h (z + N ((1 - w) g(z, a_i) + w g(z, a'_i))) + sqrt(2 h) x,

    with g the row's gradient and w = `share_after`. All of it is linear given the row, so that the
    first two moments obey linear equations, averaged over the rows.
    """
    size, q, w = len(y), 1 / SPREAD**2, share_after
    own = 1 / (q + 1)
    k = q * own
    d = size + 1
    maps = []
    for i in range(size):
        move, after = np.eye(d), np.zeros(d)
        move[1 + i] = 0.0
        move[1 + i, 0], move[1 + i, 1 + i] = k * (1 - keeps), keeps
        after[1 + i] = own * (1 - keeps) * y[i]
        noise = np.sqrt((1 - keeps**2) * own)
        slope = np.zeros(d)
        slope[0], slope[1 + i] = size * q, -size * q
        matrix, shift = move.copy(), after.copy()
        matrix[0] -= h * ((1 - w) * slope + w * slope @ move)
        matrix[0, 0] -= h
        shift[0] -= h * w * slope @ after
        jump = np.zeros(d)
        jump[1 + i], jump[0] = noise, h * w * size * q * noise
        both = np.outer(jump, jump)
        both[0, 0] += 2 * h
        maps.append((matrix, shift, both))
    matrices, shifts, noises = (np.stack(parts) for parts in zip(*maps, strict=True))
    mean = np.linalg.solve(np.eye(d) - matrices.mean(0), shifts.mean(0))
    crossed = np.einsum("nij,j,nk->nik", matrices, mean, shifts)
    outer = np.einsum("ni,nj->nij", shifts, shifts)
    constant = (noises + outer + crossed + np.swapaxes(crossed, 1, 2)).mean(0)
    lifted = np.mean([np.kron(m, m) for m in matrices], axis=0)
    square = np.linalg.solve(np.eye(d * d) - lifted, constant.reshape(-1)).reshape(d, d)
    marginal = 1 + size / (SPREAD**2 + 1)
    exact_mean = np.sum(y) / (SPREAD**2 + 1) / marginal
    return Exact(exact_mean, 1 / marginal, float(mean[0]), float(square[0, 0] - mean[0] ** 2))


def noise_at(z, latents, keeps, y=Y):
    """Return the exact variance of the estimate over rows and moves at one state."""
    size, q = len(y), 1 / SPREAD**2
    own = 1 / (q + 1)
    away = latents - own * (q * z + y)
    after = latents - (1 - keeps) * away
    slopes = q * (z - (latents + after) / 2)
    return size**2 * (np.var(slopes) + (q / 2) ** 2 * (1 - keeps**2) * own)
