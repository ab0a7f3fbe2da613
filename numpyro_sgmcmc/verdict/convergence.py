"""Effective sample sizes and R-hat of each site, by ArviZ."""

from collections.abc import Callable
from typing import Any, NamedTuple
from warnings import catch_warnings

import arviz as az
import numpy as np
from numpyro.diagnostics import effective_sample_size, split_gelman_rubin

from numpyro_sgmcmc.verdict.columns import by_columns, in_threads

LOOKED_AT = 16
"""Entries of a long site that each of ArviZ's formulas looks at, the worst by a quick formula. The
effective sample size looks at fewer where chains have more than `COMPARED` draws."""

COMPARED = 10_000
"""Draws of a chain, evenly spaced, that R-hat compares and at which functions are evaluated at the
most. Where draws are cheap, working on hundreds of thousands would take as long as making them."""

BLOCKS = 250
"""Blocks of a chain from which quick formulas work: the slowest entries, which are looked for, do
not change within a block."""


class Convergence(NamedTuple):
    """The worst of a site's entries.

    Attributes:
        ess_bulk: smallest effective sample size.
        r_hat: largest rank-normalised R-hat, of at most `COMPARED` draws of a chain; of the two
            halves where there is one chain.
    """

    ess_bulk: float
    r_hat: float


def convergence(
    posterior: Any, names: list[str], weights: np.ndarray, is_together: bool
) -> dict[str, Convergence]:
    """Return each site's convergence.

    Args:
        posterior: constrained draws by site, (chain, draw, ...).
        names: the sites.
        weights: of the draws, (chain, draw). Draws of unequal weights count as
            (sum w)^2 / sum w^2 of equal ones (Kish 1965).
        is_together: whether chains share their minibatches, see `_shared_ess`.
    """
    share = weights.sum() ** 2 / (weights.size * np.sum(weights**2))
    slow, apart = {}, {}
    for name in names:
        array = np.asarray(posterior[name])
        slow[name], apart[name] = _worst(array.reshape(*array.shape[:2], -1))
    with catch_warnings():  # ArviZ's own, in several threads, would not restore the filters.
        sizes = _of_entries(lambda draws: _size(draws, is_together), slow)
        r_hats = _of_entries(_r_hat, apart)
    return {
        name: Convergence(
            float(np.min(sizes[name])) * share if sizes[name] else np.nan,
            float(np.max(r_hats[name])) if r_hats[name] else np.nan,
        )
        for name in names
    }


def kinetic_temperature(stats: Any) -> tuple[float, float]:
    """Return the mean of p . p / d and its standard error.

    Both are NaN without momentum. The error is NaN where some momentum overflowed.
    """
    if "kinetic_temperature" not in stats:
        return float("nan"), float("nan")
    draws = np.asarray(stats["kinetic_temperature"], np.float64)
    if not np.isfinite(draws).all():
        return float(draws.mean()), float("nan")
    ess = float(np.asarray(az.ess(draws, method="mean")))
    return float(draws.mean()), float(draws.std() / np.sqrt(max(ess, 1.0)))


def _worst(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a long site's slowest entries and those whose chains differ most, by quick formulas.

    ArviZ's formulas take milliseconds an entry, which is too long for thousands of them. The
    effective sample size takes a tenth of a second where draws are many; R-hat uses `COMPARED`.
    """
    size, length = columns.shape[-1], columns.shape[1]
    few = int(np.clip(LOOKED_AT * COMPARED // max(length, 1), 2, LOOKED_AT))
    if size <= 3 * few or length < 4:
        return columns, columns
    sizes, r_hats = by_columns(_quickly, columns)
    # Sorting puts what is not a number last.
    strange = np.flatnonzero(~np.isfinite(sizes + r_hats))[:LOOKED_AT]
    slow, apart = np.argsort(sizes)[:few], np.argsort(-r_hats)[:LOOKED_AT]
    if size <= 3 * LOOKED_AT:
        apart = np.arange(size)
    return columns[..., np.union1d(slow, strange)], columns[..., np.union1d(apart, strange)]


def _of_entries(
    function: Callable[[np.ndarray], float], columns: dict[str, np.ndarray]
) -> dict[str, list[float]]:
    """Return what a function gives for each entry of each site, all of them in several threads."""
    found: dict[str, list[float]] = {name: [] for name in columns}
    each = [(name, at) for name, array in columns.items() for at in range(array.shape[-1])]
    values = in_threads(lambda one: function(columns[one[0]][..., one[1]].astype(float)), each)
    for (name, _), value in zip(each, values, strict=True):
        found[name].append(value)
    return found


def _quickly(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    columns = np.asarray(columns, np.float64)
    # Chains of one mean may differ in their spread, which ArviZ's R-hat sees too.
    away = np.abs(columns - columns.mean((0, 1)))
    with np.errstate(divide="ignore", invalid="ignore"):
        r_hat = np.fmax(split_gelman_rubin(columns), split_gelman_rubin(away))
        return _size_by_blocks(columns), r_hat


def _size_by_blocks(columns: np.ndarray) -> np.ndarray:
    """Return effective sample sizes, of long chains by the means of blocks of consecutive draws.

    The average of all draws is that of the blocks' means, so its variance is theirs divided by
    their effective number.
    """
    chains, length, size = columns.shape
    each = max(length // BLOCKS, 1)
    used = columns[:, : length // each * each]
    blocks = used.reshape(chains, -1, each, size).mean(2)
    variances = used.var((0, 1)) / blocks.var((0, 1))
    return effective_sample_size(blocks) * variances


def _size(draws: np.ndarray, is_together: bool) -> float:
    # Entries that the support fixes (a Cholesky factor's upper triangle) do not move at all.
    if np.ptp(draws) == 0:
        return np.inf
    if is_together:
        return _shared_ess(draws)
    # ArviZ divides by the variance within chains, which is 0 where every chain is stuck.
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.asarray(az.ess(draws)))


def _r_hat(draws: np.ndarray) -> float:
    if np.ptp(draws) == 0:
        return 1.0
    chains, length = draws.shape
    halves = draws[:, : length // 2 * 2].reshape(2, -1) if chains == 1 else draws
    some = halves[:, :: max(1, -(-halves.shape[1] // COMPARED))]
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.asarray(az.rhat(some)))


def _shared_ess(draws: np.ndarray) -> float:
    """Return how many independent draws have a mean as precise as that of dependent chains.

    The mean over chains, at each iteration, is one series: its variance holds whatever the chains
    have in common.
    """
    mean = draws.mean(0)
    alone = float(np.asarray(az.ess(mean[None], method="mean")))
    return alone * draws.var() / mean.var()
