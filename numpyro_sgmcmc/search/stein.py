"""Kernel Stein discrepancy: how far draws are from exp(-U), from gradients of U alone."""

import jax
import jax.numpy as jnp

ROWS_AT_ONCE = 64
"""Rows of the n x n matrix of Stein kernels that are held at once."""


def kernel_stein_discrepancy(
    draws: jax.Array,
    gradients: jax.Array,
    again: jax.Array | None = None,
    *,
    scale: float = 1.0,
    diagonal: bool = True,
) -> jax.Array:
    """Return the squared discrepancy of draws from the law whose density is exp(-U).

    The mean of the Stein kernel k0 over pairs of draws. With g = grad U and the inverse
    multiquadric k(x, y) = q^(-1/2), q = c^2 + |x - y|^2 (Gorham and Mackey 2017),

        k0(x, y) = g_x . g_y k - g_x . grad_y k - g_y . grad_x k + div_x grad_y k
                 = g_x . g_y q^(-1/2) + (d - (g_x - g_y) . (x - y)) q^(-3/2)
                   - 3 |x - y|^2 q^(-5/2).

    E k0(x, Y) = 0 for Y ~ exp(-U) and every x. So over pairs i != j (the U-statistic, without the
    `diagonal`) the expectation is 0 for exact independent draws, and otherwise what the draws' law
    and their correlation add to it. Over all pairs (the V-statistic) it is the discrepancy of the
    draws themselves: never negative with exact gradients, and larger by about E k0(x, x) / n with
    k0(x, x) = |g|^2 / c + d / c^3. In many dimensions that matters: draws scattered much too widely
    are far from each other, where k is small, and only their own gradients tell.

    k0 is affine in each gradient. Errors e_i of mean 0 given the draws, and independent of each
    other, so leave the expectation of the U-statistic as it is; the V-statistic gains
    E |e|^2 / (n c), unless a second estimate of the same gradients is given: then their product
    stands for |g|^2, and their mean elsewhere, and no expectation is changed. Gradients that moved
    the chain are not independent of the draws after them; those of fresh minibatches are.

    In the coordinates y = S^-1 z the gradient is S' g: pass both so, with S near the posterior's
    scales, or c = 1 means little. Time n^2 d, memory n d and 64 n.

    Args:
        draws: (n, d).
        gradients: of U at the draws, exact or unbiased estimates, (n, d).
        again: the same, estimated once more and independently, (n, d).
        scale: c.
        diagonal: the V-statistic; otherwise the U-statistic.
    """
    count, dimension = draws.shape
    own = jnp.sum(gradients * (gradients if again is None else again), axis=1)
    gradients = gradients if again is None else (gradients + again) / 2
    # Only differences matter. About the mean their expansion below loses the fewest digits.
    draws = draws - draws.mean(0)
    lengths = jnp.sum(draws**2, axis=1)
    slopes = jnp.sum(draws * gradients, axis=1)
    places = jnp.arange(count)

    def others(i: jax.Array) -> jax.Array:
        squared = jnp.maximum(lengths[i] + lengths - 2 * dot(draws, draws[i]), 0.0)
        twist = slopes[i] + slopes - dot(gradients, draws[i]) - dot(draws, gradients[i])
        q = scale**2 + squared
        inner = dot(gradients, gradients[i])
        values = (inner + (dimension - twist - 3 * squared / q) / q) / jnp.sqrt(q)
        return jnp.sum(jnp.where(places == i, 0.0, values))

    total = jnp.sum(jax.lax.map(others, places, batch_size=ROWS_AT_ONCE))
    if not diagonal:
        return total / (count * (count - 1))
    return (total + jnp.sum(own / scale + dimension / scale**3)) / count**2


def dot(matrix: jax.Array, vector: jax.Array) -> jax.Array:
    """Return the product in full precision, which accelerators do not give by default."""
    return jnp.matmul(matrix, vector, precision=jax.lax.Precision.HIGHEST)
