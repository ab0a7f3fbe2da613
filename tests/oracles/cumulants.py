"""Stationary fourth moments of linear recursions whose noise is not Gaussian.

In x <- A x + heat dW the coordinates of dW are independent, with variance T h and one kurtosis.
Cumulants of independent vectors add, so the fourth cumulant K of the stationary x, an array with
four axes, solves

    K = A K A' (along each of the four axes) + (kurtosis - 3) (T h)^2 sum_j a_j x a_j x a_j x a_j,

with a_j the columns of `heat`. It is linear in K. Covariances do not depend on the kurtosis.
"""

import numpy as np

KURTOSIS = {"normal": 3.0, "binomial": 2.875}


def fourth_cumulant(
    a: np.ndarray, heat: np.ndarray, h: float, kurtosis: float, temperature: float = 1.0
) -> np.ndarray:
    """Return K, with four axes of the size of x."""
    size = len(a)
    each = (np.einsum("i,j,k,l->ijkl", *[column] * 4) for column in heat.T)
    added = (kurtosis - 3) * (temperature * h) ** 2 * sum(each)
    two = np.kron(a, a)
    operator = np.eye(size**4) - np.kron(two, two)
    return np.linalg.solve(operator, added.ravel()).reshape([size] * 4)


def fourth_moment(covariance: np.ndarray, cumulant: np.ndarray, i: int = 0) -> float:
    """Return E x_i^4 of x with mean 0."""
    return float(3 * covariance[i, i] ** 2 + cumulant[i, i, i, i])
