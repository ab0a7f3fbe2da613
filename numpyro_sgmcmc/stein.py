"""Kernel Stein discrepancy: how far draws are from exp(-U), from gradients of U alone."""

from typing import Any

import jax

Array = Any
"""Of NumPy or JAX: what comes out is of the kind that went in."""


def stein_gram(
    draws: Array, gradients: Array, again: Array | None = None, *, scale: float = 1.0
) -> Array:
    """Return the Stein kernel k0 of all pairs of draws, (n, n), for the density exp(-U).

    With g = grad U and the inverse multiquadric k(x, y) = q^(-1/2), q = c^2 + |x - y|^2 (Gorham and
    Mackey 2017),

        k0(x, y) = g_x . g_y k - g_x . grad_y k - g_y . grad_x k + div_x grad_y k
                 = g_x . g_y q^(-1/2) + (d - (g_x - g_y) . (x - y)) q^(-3/2)
                   - 3 |x - y|^2 q^(-5/2).

    k0 is affine in each gradient. Errors e_i of mean 0 given the draws, and independent of each
    other, so leave the expectation of what stands off the diagonal as it is; the diagonal
    |g|^2 / c + d / c^3 gains E |e|^2 / c, unless a second estimate of the same gradients is given:
    then their product stands for |g|^2, and their mean elsewhere, and no expectation is changed.
    Gradients that moved the chain are not independent of the draws after them; those of fresh
    minibatches are.

    In the coordinates y = S^-1 z the gradient is S' g: pass both so, with S near the posterior's
    scales, or c = 1 means little. Time n^2 d, memory n d and n^2.

    Args:
        draws: (n, d).
        gradients: of U at the draws, exact or unbiased estimates, (n, d).
        again: the same, estimated once more and independently, (n, d).
        scale: c.
    """
    xp = draws.__array_namespace__()
    count, dimension = draws.shape
    own = xp.sum(gradients * (gradients if again is None else again), axis=1)
    gradients = gradients if again is None else (gradients + again) / 2
    # Only differences matter. About the mean their expansion below loses the fewest digits.
    draws = draws - xp.mean(draws, axis=0)
    lengths = xp.sum(draws**2, axis=1)
    slopes = xp.sum(draws * gradients, axis=1)
    # Accelerators multiply in lower precision unless asked.
    with jax.default_matmul_precision("highest"):
        inner = gradients @ gradients.T
        cross = gradients @ draws.T
        products = draws @ draws.T
    squared = xp.maximum(lengths[:, None] + lengths - 2 * products, xp.zeros_like(products))
    twist = slopes[:, None] + slopes - cross - cross.T
    q = scale**2 + squared
    pairs = (inner + (dimension - twist - 3 * squared / q) / q) / xp.sqrt(q)
    itself = own / scale + dimension / scale**3
    return xp.where(xp.eye(count, dtype=bool), itself[:, None], pairs)


def kernel_stein_discrepancy(
    draws: Array,
    gradients: Array,
    again: Array | None = None,
    *,
    scale: float = 1.0,
    diagonal: bool = True,
) -> Array:
    """Return the squared discrepancy of draws from exp(-U): the mean of `stein_gram` over pairs.

    E k0(x, Y) = 0 for Y ~ exp(-U) and every x. So over pairs i != j (the U-statistic, without the
    `diagonal`) the expectation is 0 for exact independent draws, and otherwise what the draws' law
    and their correlation add to it. Over all pairs (the V-statistic) it is the discrepancy of the
    draws themselves: never negative with exact gradients, and larger by about E k0(x, x) / n. In
    many dimensions that matters: draws scattered much too widely are far from each other, where k
    is small, and only their own gradients tell.

    Args:
        draws: (n, d).
        gradients: of U at the draws, exact or unbiased estimates, (n, d).
        again: the same, estimated once more and independently, (n, d).
        scale: c.
        diagonal: the V-statistic; otherwise the U-statistic.
    """
    xp = draws.__array_namespace__()
    count = draws.shape[0]
    gram = stein_gram(draws, gradients, again, scale=scale)
    if diagonal:
        return xp.sum(gram) / count**2
    return (xp.sum(gram) - xp.sum(xp.diagonal(gram))) / (count * (count - 1))
