"""Quantiles and intervals of weighted and of extrapolated draws."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from numpyro_sgmcmc.results.entries import weights_of
from numpyro_sgmcmc.results.estimate import Estimate, coefficients, values_of, weighted_mean


def quantile(
    data: Any,
    fn: Callable[[dict[str, np.ndarray]], Any],
    probabilities: float | Sequence[float],
) -> Estimate:
    """Estimate posterior quantiles of a function, as `expectation` estimates its mean.

    The distribution function at x is `expectation` of 1{f <= x}: weighted by step size, and
    extrapolated for Richardson-Romberg. With few draws an extrapolated distribution function may
    decrease in places. Its values are sorted before it is inverted, which never increases its error
    (Chernozhukov, Fernández-Val and Galichon 2010, https://doi.org/10.3982/ECTA7880).

    With s the standard error of the distribution function at the quantile, by batch means, the
    standard error of the quantile is half the distance between the quantiles at p - s and p + s.

    Args:
        data: result of `to_inference_data`, also after saving and loading.
        fn: function of one draw, a dict of its constrained sites, that returns an array.
        probabilities: one or several, in (0, 1).

    Returns:
        The quantiles, shape of the probabilities and then that of the function.

    Raises:
        ValueError: if a probability is not inside (0, 1), or there are fewer than 4 draws.
    """
    wanted = np.asarray(probabilities, np.float64)
    if wanted.size == 0 or not np.all((wanted > 0) & (wanted < 1)):
        raise ValueError(
            f"Expected `probabilities` between 0 and 1, neither included; got {probabilities}. Use"
            " numbers such as 0.05 and 0.95."
        )
    factors = coefficients(data)
    walkers = np.stack([values_of(data, group, fn) for group in factors])
    weights = weights_of(data)
    shape = walkers.shape[3:]
    columns = walkers.reshape(*walkers.shape[:3], -1)
    found = [
        column_quantiles(columns[..., i], list(factors.values()), weights, wanted.reshape(-1))
        for i in range(columns.shape[-1])
    ]
    value, mcse = (np.stack([one[k] for one in found], axis=-1) for k in (0, 1))
    full = (*wanted.shape, *shape)
    return Estimate(value.reshape(full), mcse.reshape(full))


def interval(
    data: Any, fn: Callable[[dict[str, np.ndarray]], Any], probability: float = 0.94
) -> Estimate:
    """Estimate the equal-tailed interval that holds a function with a probability.

    Args:
        data: result of `to_inference_data`, also after saving and loading.
        fn: function of one draw, a dict of its constrained sites, that returns an array.
        probability: probability of the interval, in (0, 1).

    Returns:
        Lower and upper end along the first axis.

    Raises:
        ValueError: if the probability is not inside (0, 1), or there are fewer than 4 draws.
    """
    if not 0 < probability < 1:
        raise ValueError(
            f"Expected `probability` between 0 and 1, neither included; got {probability}. Use a"
            " number such as 0.94."
        )
    tail = (1 - probability) / 2
    return quantile(data, fn, (tail, 1 - tail))


class Distribution(NamedTuple):
    """A distribution on the line: points in order, and how much of it lies below each."""

    points: np.ndarray
    reached: np.ndarray

    def quantile(self, probabilities: Any) -> np.ndarray:
        """Return quantiles, linear between draws."""
        return np.interp(probabilities, self.reached, self.points)

    def narrowest(self, probability: float) -> np.ndarray:
        """Return the ends of the narrowest interval of a probability."""
        low = self.reached[(self.reached >= 0) & (self.reached <= 1 - probability)]
        low = np.concatenate([low, [(1 - probability) / 2]])
        ends = self.quantile(np.stack([low, low + probability]))
        return ends[:, np.argmin(ends[1] - ends[0])]


def distribution_of(
    walkers: np.ndarray, factors: Sequence[float], weights: np.ndarray
) -> Distribution:
    """Return the distribution of draws (walker, chain, draw).

    The factors are the walkers' coefficients, which sum to 1; the weights of draws are (chain,
    draw).
    """
    mass = np.asarray(factors, np.float64)[:, None, None] * (weights / weights.sum())
    order = np.argsort(walkers, axis=None, kind="stable")
    reached = np.sort(np.cumsum(mass.reshape(-1)[order]))
    # A draw stands in the middle of its mass.
    middle = (reached + np.concatenate([[0.0], reached[:-1]])) / 2
    return Distribution(walkers.reshape(-1)[order], middle)


def column_quantiles(
    walkers: np.ndarray, factors: Sequence[float], weights: np.ndarray, wanted: np.ndarray
) -> Estimate:
    """Return quantiles of one number, walkers (walker, chain, draw), and their standard errors."""
    combined = distribution_of(walkers, factors, weights)
    value = combined.quantile(wanted)
    below = walkers[..., None] <= value
    share = weighted_mean(np.tensordot(np.asarray(factors), below, axes=1), weights)
    ends = combined.quantile(
        np.clip(np.stack([wanted - share.mcse, wanted + share.mcse]), 0.0, 1.0)
    )
    return Estimate(value, (ends[1] - ends[0]) / 2)
