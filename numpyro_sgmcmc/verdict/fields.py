"""Vector fields along which Stein's identity speaks of one coordinate's moments."""

from typing import NamedTuple

import numpy as np


class Fields(NamedTuple):
    """For coordinate i the constant field w with w_i = 1 along which its derivative is taken.

    For a Gaussian with covariance C and w = C e_i / C_ii the derivative of U / T along w is a
    function of coordinate i alone, so that coordinate's moments are known without error.

    Attributes:
        covariance: C, (d, d); None for the coordinates' own directions.
        root: a square root of the draws' covariance, None likewise.
    """

    covariance: np.ndarray | None
    root: np.ndarray | None

    def along(self, gradients: np.ndarray) -> np.ndarray:
        """Return the derivatives along the fields, (n, d), from gradients (n, d)."""
        if self.covariance is None:
            return gradients
        return gradients @ (self.covariance / np.diag(self.covariance))

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
    share = np.sqrt(weights)[:, None]
    design = np.column_stack([np.ones(len(y)), y]) * share
    fitted = np.linalg.lstsq(design, gradients @ root * share, rcond=None)[0][1:]
    curvatures, axes = np.linalg.eigh((fitted + fitted.T) / 2)
    if not curvatures[0] > 0:
        return Fields(covariance, root)
    half = root @ (axes / np.sqrt(curvatures))
    return Fields(half @ half.T, root)
