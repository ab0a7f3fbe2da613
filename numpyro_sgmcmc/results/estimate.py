"""Estimates of posterior expectations with their Monte Carlo standard errors."""

from collections.abc import Callable
from math import isqrt
from typing import Any, NamedTuple

import numpy as np

from numpyro_sgmcmc.kernels import walker_coefficients
from numpyro_sgmcmc.results.entries import attributes_of, weights_of
from numpyro_sgmcmc.results.groups import group_names

COARSER = ("posterior_middle", "posterior_coarse")
"""Groups of the walkers with longer steps, the finer first."""


class Estimate(NamedTuple):
    """An estimate of a posterior expectation with its Monte Carlo standard error.

    Attributes:
        value: the estimate.
        mcse: its Monte Carlo standard error, of the same shape.
    """

    value: np.ndarray
    mcse: np.ndarray


def expectation(data: Any, fn: Callable[[dict[str, np.ndarray]], Any]) -> Estimate:
    """Estimate the posterior expectation of a function as the kernel's paper defines it.

    With weights w_l (sample_stats `weight`, the simulated time that a draw represents) it is sum_l
    w_l f_l / sum_l w_l: weighted by step size for decreasing schedules (Chen, Ding and Carin 2015,
    https://arxiv.org/abs/1610.06665, theorem 5) and the plain mean for a constant step size. For
    Richardson-Romberg (Durmus et al. 2016, equation 6) f_l is a combination of the walkers' values,
    f(fine, halfway) + f(fine) - f(coarse) with gradient noise; `RichardsonRomberg` lists the
    coefficients.

    The standard error comes from batch means over about sqrt(draws) consecutive draws of each
    chain. It accounts for autocorrelation over shorter lags, but not for the kernel's bias.

    Args:
        data: result of `to_inference_data`, also after saving and loading.
        fn: function of one draw, a dict of its constrained sites, that returns an array.

    Raises:
        ValueError: if there are fewer than 4 draws, too few for a standard error.
    """
    values = extrapolated(data, lambda group: values_of(data, group, fn))
    return weighted_mean(values, weights_of(data))


def weighted_mean(values: np.ndarray, weights: np.ndarray) -> Estimate:
    """Return sum w f / sum w over (chain, draw) and its standard error by batch means.

    With batches k of weight W_k and mean m_k, the error of the ratio estimator is
    sqrt(n / (n - 1) sum_k W_k^2 (m_k - m)^2) / sum_k W_k.
    """
    chains, draws = weights.shape
    length = isqrt(draws)
    count = draws // length
    if chains * count < 2 or draws < 4:
        raise ValueError(
            f"Expected at least 4 draws for a standard error; got {chains} x {draws}. Run longer."
        )
    shape = (chains, draws) + (1,) * (values.ndim - 2)
    weighted = values * weights.reshape(shape)
    mean = weighted.sum((0, 1)) / weights.sum()
    kept = count * length
    by_batch = weighted[:, :kept].reshape(chains * count, length, *values.shape[2:]).sum(1)
    mass = weights[:, :kept].reshape(chains * count, length).sum(1)
    batches = chains * count
    with np.errstate(over="ignore", invalid="ignore"):  # Infinite values have no known error.
        residual = by_batch - mass.reshape(-1, *(1,) * (values.ndim - 2)) * mean
        error = np.sqrt(batches / (batches - 1) * (residual**2).sum(0)) / mass.sum()
    return Estimate(mean, error)


def is_extrapolated(data: Any) -> bool:
    """Return whether the run had a coarse walker."""
    return "posterior_coarse" in group_names(data)


def coefficients(data: Any) -> dict[str, float]:
    """Return the coefficient of each posterior group in an estimate.

    The coefficients are those that the run's kernel chose, an attribute of the data (see
    `RichardsonRomberg`). Data without it are of runs whose coefficients cancelled h and h^2. The
    finest walker is seen twice, after each half of its steps.
    """
    if not is_extrapolated(data):
        return {"posterior": 1.0}
    coarser = [name for name in COARSER if name in group_names(data)]
    chosen = attributes_of(data).get("extrapolation")
    if chosen is None:
        finest, *others = walker_coefficients(1 + len(coarser), (1, 2))
    else:
        finest, *others = (float(factor) for factor in chosen.split(","))
    fine = dict.fromkeys(("posterior", "posterior_halfway"), finest / 2)
    return fine | dict(zip(coarser, others, strict=True))


def extrapolated(data: Any, values_of: Callable[[str], Any]) -> Any:
    """Return the extrapolated combination of the walkers' values, by group."""
    return sum(factor * values_of(group) for group, factor in coefficients(data).items())


def values_of(data: Any, group: str, fn: Callable[[dict[str, np.ndarray]], Any]) -> np.ndarray:
    """Return a function of each draw of a group, (chain, draw, ...)."""
    sites = {str(name): np.asarray(array) for name, array in data[group].data_vars.items()}
    chains, draws = data[group].sizes["chain"], data[group].sizes["draw"]
    rows = [
        [np.asarray(fn({n: v[c, d] for n, v in sites.items()}), np.float64) for d in range(draws)]
        for c in range(chains)
    ]
    return np.asarray(rows)
