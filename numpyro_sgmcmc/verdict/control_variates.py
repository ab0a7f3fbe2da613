"""The mean and variance that gradients at draws ask for, coordinate by coordinate."""

from typing import NamedTuple

import numpy as np


class Asked(NamedTuple):
    """Moments of the posterior in units in which the draws have mean 0 and variance 1.

    Attributes:
        mean: (d,).
        square: second moment about 0, (d,).
        mean_residual: what is left of the draws by the regression, (n, d); its average's standard
            error is that of `mean`.
        square_residual: likewise.
        explained: share of the variation of the draws and of their squares that the derivatives
            explain, the smaller of the two, (d,).
        mean_explained: that of the draws.
    """

    mean: np.ndarray
    square: np.ndarray
    mean_residual: np.ndarray
    square_residual: np.ndarray
    explained: np.ndarray
    mean_explained: np.ndarray


def chosen(polynomial: Asked, ratio: Asked, exact: np.ndarray) -> Asked:
    """Return the first where `exact`, (d,), and the second elsewhere."""
    return Asked(*(np.where(exact, p, r) for p, r in zip(polynomial, ratio, strict=True)))


def ratio_moments(draws: np.ndarray, slopes: np.ndarray, weights: np.ndarray) -> Asked:
    """Return the moments of the Gaussian whose derivative is the slopes' regression on the draws.

    With slopes near a + b x the mean is -a / b and the variance 1 / b. Where the derivative also
    depends on other coordinates, or is an estimate, a regression of the draws on functions of it
    finds coefficients that are too small, and so too small an error: that part is noise in a
    predictor there, but in the response here.
    """
    centre = weights @ draws
    x = draws - centre
    level, slope = weights @ slopes, weights @ (x * slopes)
    with np.errstate(divide="ignore", invalid="ignore"):
        b = np.where(slope > 0, slope / (weights @ x**2), np.nan)
        mean = centre - level / b
        along = (slopes - level) / b
        mean_residual = x - along
        square_residual = (x**2 - x * along) / (b * (weights @ x**2))
        square = 1 / b + mean**2
    nothing = np.zeros_like(mean)
    return Asked(mean, square, mean_residual, square_residual, nothing, nothing)


def asked_moments(x: np.ndarray, s: np.ndarray, weights: np.ndarray) -> Asked:
    """Return the posterior's moments by Stein's identity, with polynomials as control variates.

    With x a standardised coordinate and s the derivative of U / T along a vector field of which x
    is one coordinate, the posterior has E[phi(x) s - phi'(x)] = 0 for every phi. x and x^2 are
    regressed on these functions for phi = 1, x, x^2 and x^3: the intercepts are the posterior's
    moments, as exactly as the polynomials solve Stein's equation and whatever the distribution of
    the draws is. On a Gaussian phi = 1 and x do so without error (Assaraf and Caffarel 1999; Mira,
    Solgi and Imparato 2013, arXiv:1012.2983).

    Args:
        x: draws, (n, d).
        s: derivatives, (n, d).
        weights: of the draws, (n,), with sum 1.
    """
    square = x**2
    features = [np.ones_like(x), s, x * s - 1, square * s - 2 * x, x * square * s - 3 * square]
    targets = [x, square]
    weighted = [weights[:, None] * feature for feature in features]
    # A regression for each coordinate, on features of unit length.
    gram = np.array([[_products(f, g) for g in features] for f in weighted]).T
    right = np.array([[_products(t, f) for t in targets] for f in weighted]).T.swapaxes(1, 2)
    length = np.sqrt(np.diagonal(gram, axis1=1, axis2=2))
    unit = np.where(length > 0, length, 1.0)
    inverse = np.linalg.pinv(gram / (unit[:, :, None] * unit[:, None]), rcond=1e-12, hermitian=True)
    coefficients = inverse @ (right / unit[:, :, None]) / unit[:, :, None]
    # Fitted coefficients make residuals smaller than errors are.
    lost = np.sqrt(len(x) / max(len(x) - len(features), 1))
    residuals, shares = [], []
    for k, target in enumerate(targets):
        left = target - coefficients[:, 0, k]
        total = weights @ (target - weights @ target) ** 2
        for feature, coefficient in zip(features[1:], coefficients[:, 1:, k].T, strict=True):
            left = left - coefficient * feature
        shares.append(1 - weights @ left**2 / np.where(total > 0, total, 1.0))
        residuals.append(lost * left)
    mean, asked = coefficients[:, 0].T
    return Asked(mean, asked, residuals[0], residuals[1], np.minimum(*shares), shares[0])


def _products(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->j", first, second)
