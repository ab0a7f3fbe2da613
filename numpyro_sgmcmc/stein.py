"""Kernel Stein discrepancy: the distance of draws from exp(-U), computed from gradients of U."""

from typing import Any

import jax

Array = Any
"""An array of NumPy or JAX; results are of the same kind as the arguments."""


def stein_gram(
    draws: Array, gradients: Array, again: Array | None = None, *, scale: float = 1.0
) -> Array:
    """Return the Stein kernel k0 of all pairs of draws, (n, n), for the density exp(-U).

    With g = grad U and the inverse multiquadric k(x, y) = q^(-1/2), q = c^2 + |x - y|^2 (Gorham and
    Mackey 2017),

        k0(x, y) = g_x . g_y k - g_x . grad_y k - g_y . grad_x k + div_x grad_y k
                 = g_x . g_y q^(-1/2) + (d - (g_x - g_y) . (x - y)) q^(-3/2)
                   - 3 |x - y|^2 q^(-5/2).

    Gradients may be unbiased estimates. k0 is affine in each gradient, so errors e_i that have
    mean 0 given the draws and are independent of each other do not change the expectation of the
    entries off the diagonal. They add E |e|^2 / c to the diagonal |g|^2 / c + d / c^3. A second,
    independent estimate of the same gradients avoids this: the product of both replaces |g|^2, and
    their mean is used elsewhere. Use gradients of fresh minibatches: the gradients that moved the
    chain are not independent of the draws that follow.

    The choice c = 1 is sensible if the coordinates have scales near 1. In coordinates y = S^-1 z,
    with S near the posterior's scales, the gradient is S' g. The time is of order n^2 d.

    References:
        Gorham and Mackey 2017, "Measuring Sample Quality with Kernels",
        https://arxiv.org/abs/1703.01717

    Args:
        draws: array (n, d).
        gradients: gradients of U at the draws, or unbiased estimates of them, (n, d).
        again: a second estimate of the gradients, independent of the first, (n, d).
        scale: c.
    """
    xp = draws.__array_namespace__()
    count, dimension = draws.shape
    own = xp.sum(gradients * (gradients if again is None else again), axis=1)
    gradients = gradients if again is None else (gradients + again) / 2
    # Only differences matter. Centred draws lose the fewest digits in the expansion below.
    draws = draws - xp.mean(draws, axis=0)
    lengths = xp.sum(draws**2, axis=1)
    slopes = xp.sum(draws * gradients, axis=1)
    # Accelerators multiply in lower precision by default.
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

    E k0(x, Y) = 0 for Y ~ exp(-U) and every x. The mean over pairs i != j (the U-statistic,
    `diagonal=False`) therefore has expectation 0 for exact independent draws. A wrong distribution
    or correlation of the draws changes it. The mean over all pairs (the V-statistic) is the
    discrepancy of the draws themselves. With exact gradients it is never negative, and it is larger
    by about E k0(x, x) / n. This matters in many dimensions: if draws scatter much too widely, they
    are far from each other, k is small, and only the diagonal shows the error.

    Args:
        draws: array (n, d).
        gradients: gradients of U at the draws, or unbiased estimates of them, (n, d).
        again: a second estimate of the gradients, independent of the first, (n, d).
        scale: c.
        diagonal: whether to return the V-statistic; otherwise the U-statistic.
    """
    xp = draws.__array_namespace__()
    count = draws.shape[0]
    gram = stein_gram(draws, gradients, again, scale=scale)
    if diagonal:
        return xp.sum(gram) / count**2
    return (xp.sum(gram) - xp.sum(xp.diagonal(gram))) / (count * (count - 1))
