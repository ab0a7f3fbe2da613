"""Vector fields along which Stein's identity speaks of one coordinate's moments."""

from typing import NamedTuple

import numpy as np

from numpyro_sgmcmc.subspace import Group
from numpyro_sgmcmc.verdict.regression import slopes
from numpyro_sgmcmc.verdict.thresholds import DRAWS_BY_DIMENSION
from numpyro_sgmcmc.verdict.wide import WideCovariance, directions_of


class Fields(NamedTuple):
    """For coordinate i the constant field w with w_i = 1 along which its derivative is taken.

    For a Gaussian with covariance C and w = C e_i / C_ii the derivative of U / T along w is a
    function of coordinate i alone, so that coordinate's moments are known without error.

    For a further function a'z of the position it is w = C a / (a' C a), with a'w = 1.

    Attributes:
        covariance: C, (d, d); None in high dimension.
        root: a square root of the draws' covariance, None likewise.
        wide: C in high dimension, None if it is taken as diagonal.
        scale: the coordinates' standard deviations, (d,), if C is taken as diagonal.
        bias: about the relative error of C's diagonal that gradient noise causes: its inverse is
            H + E, with errors E of a regression, and (H + E)^-1 is too large by H^-1 E H^-1 E H^-1.
    """

    covariance: np.ndarray | None = None
    root: np.ndarray | None = None
    wide: WideCovariance | None = None
    scale: np.ndarray | None = None
    bias: float = 0.0

    def along(self, gradients: np.ndarray, further: np.ndarray) -> np.ndarray:
        """Return the derivatives along the fields, (n, d + k).

        Args:
            gradients: (n, d).
            further: functions a of the position as columns, (d, k).
        """
        if self.covariance is not None:
            # Coordinates that did not move have no field.
            with np.errstate(divide="ignore", invalid="ignore"):
                own = gradients @ (self.covariance / np.diag(self.covariance))
            moved = self.covariance @ further
        else:
            own, moved = self._in_high_dimension(gradients, further)
        return np.concatenate([own, gradients @ (moved / np.sum(further * moved, axis=0))], axis=1)

    def _in_high_dimension(
        self, gradients: np.ndarray, further: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivatives along the coordinates' fields, (n, d), and C a, (d, k)."""
        if self.wide is not None:
            own = self.wide.product(gradients) / self.wide.diagonal()
            return own, self.wide.product(further.T).T
        assert self.scale is not None
        return gradients, self.scale[:, None] ** 2 * further

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
    y, unit = y - weights @ y, gradients @ root
    fitted = slopes(y, unit, weights)
    rest = unit - weights @ unit - y @ fitted
    # Symmetric errors have half of the variance off the diagonal. d degrees of freedom are fitted.
    share = float(np.sum(weights**2))
    left = max(1 - len(scale) * share, share)
    bias = share / 2 * float(np.sum(weights @ rest**2)) / left**2
    curvatures, axes = np.linalg.eigh((fitted + fitted.T) / 2)
    if not curvatures[0] > 0:
        # Not `covariance` itself, which has no inverse where a run diverged along a line.
        return Fields(root @ root.T, root, bias=np.inf)
    half = root @ (axes / np.sqrt(curvatures))
    return Fields(half @ half.T, root, bias=bias)


def crossed(
    draws: np.ndarray, gradients: np.ndarray, further: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Return the derivatives along the fields of the draws' covariance, (n, d + k).

    The covariance is that of the other half of the draws, of other chains where there are several.
    Stein's identity then holds for the field of each half. With the covariance of the same draws a
    variance seems too small by the number of dimensions over that of effective draws.

    Args:
        draws: about their mean, (n, d), chain after chain.
        gradients: of U / T there, (n, d).
        further: functions of the position as columns, (d, k).
        weights: (n,).
    """
    middle = len(draws) // 2
    halves = slice(None, middle), slice(middle, None)
    found = []
    for here, there in (halves, halves[::-1]):
        own = weights[there] / weights[there].sum()
        away = draws[there] - own @ draws[there]
        covariance = (away * own[:, None]).T @ away
        found.append(Fields(covariance).along(gradients[here], further))
    return np.concatenate(found)


def wide_fields(
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
    if len(draws) < DRAWS_BY_DIMENSION * directions_of(groups):
        return Fields(scale=scale)
    return Fields(wide=WideCovariance.of(groups, draws, scale, weights))
