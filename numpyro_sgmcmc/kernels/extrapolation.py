"""Coefficients of Richardson-Romberg extrapolation."""

from collections.abc import Sequence

import numpy as np


def walker_coefficients(levels: int, powers: Sequence[int]) -> tuple[float, ...]:
    """Return the coefficients of walkers with steps h / 2^k, the finest first; they sum to 1.

    For a bias c h^p + c' h^q + ... with powers (p, q), two levels cancel c and three cancel both:
    (2^p f(h / 2) - f(h)) / (2^p - 1), and the same once more with q. As a polynomial in x, whose
    power k stands for the walker with step h / 2^k, this is the product of
    (2^p x - 1) / (2^p - 1) over the powers that are cancelled.

    Args:
        levels: number of walkers, 2 or 3.
        powers: the lowest powers of h in the bias, at least `levels` - 1 of them.
    """
    product, divisor = np.ones(1), 1.0
    for power in powers[: levels - 1]:
        product = np.polymul(product, [2.0**power, -1.0])
        divisor *= 2.0**power - 1.0
    return tuple(float(value) for value in product / divisor)
