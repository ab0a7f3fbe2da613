"""Effective sample sizes and R-hat of each site, by ArviZ."""

from typing import Any, NamedTuple
from warnings import catch_warnings

import arviz as az
import numpy as np
from numpyro.diagnostics import effective_sample_size, split_gelman_rubin

from numpyro_sgmcmc.verdict.columns import by_columns, in_threads

LOOKED_AT = 16
"""Entries of a long site that ArviZ looks at: the worst by each quick formula."""

COMPARED = 10_000
"""Draws of a chain that R-hat compares at most, evenly spaced where there are more. They are enough
for R-hat, and sorting hundreds of thousands of cheap draws would take as long as making them."""

BLOCKS = 1_000
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
    found = {}
    for name in names:
        array = np.asarray(posterior[name])
        columns = np.asarray(_worst(array.reshape(*array.shape[:2], -1)), np.float64)
        entries = list(np.moveaxis(columns, -1, 0))
        with catch_warnings():  # ArviZ's own, in several threads, would not restore the filters.
            each = in_threads(lambda draws: _one(draws, is_together), entries)
        sizes, r_hats = np.array(each).T if each else ([np.nan], [np.nan])
        found[name] = Convergence(float(np.min(sizes)) * share, float(np.max(r_hats)))
    return found


def kinetic_temperature(stats: Any) -> tuple[float, float]:
    """Return the mean of p . p / d and its standard error, NaN without momentum."""
    if "kinetic_temperature" not in stats:
        return float("nan"), float("nan")
    draws = np.asarray(stats["kinetic_temperature"], np.float64)
    ess = float(np.asarray(az.ess(draws, method="mean")))
    return float(draws.mean()), float(draws.std() / np.sqrt(max(ess, 1.0)))


def _worst(columns: np.ndarray) -> np.ndarray:
    """Return the entries that may be a long site's worst, by NumPyro's quick formulas.

    ArviZ's take milliseconds an entry, which is too long for thousands of them.
    """
    if columns.shape[-1] <= 3 * LOOKED_AT or columns.shape[1] < 4:
        return columns
    sizes, r_hats = by_columns(_quickly, columns)
    kept = np.concatenate([np.argsort(sizes)[:LOOKED_AT], np.argsort(-r_hats)[:LOOKED_AT]])
    # Sorting puts what is not a number last.
    strange = np.flatnonzero(~np.isfinite(sizes + r_hats))[:LOOKED_AT]
    return columns[..., np.unique(np.concatenate([kept, strange]))]


def _quickly(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    columns = np.asarray(columns, np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return _size_by_blocks(columns), split_gelman_rubin(columns)


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


def _one(draws: np.ndarray, is_together: bool) -> tuple[float, float]:
    # Entries that the support fixes (a Cholesky factor's upper triangle) do not move at all.
    if np.ptp(draws) == 0:
        return np.inf, 1.0
    chains, length = draws.shape
    halves = draws[:, : length // 2 * 2].reshape(2, -1) if chains == 1 else draws
    # ArviZ divides by the variance within chains, which is 0 where every chain is stuck.
    some = halves[:, :: max(1, -(-halves.shape[1] // COMPARED))]
    with np.errstate(divide="ignore", invalid="ignore"):
        ess, r_hat = az.ess(draws), az.rhat(some)
        ess = _shared_ess(draws) if is_together else float(np.asarray(ess))
    return ess, float(np.asarray(r_hat))


def _shared_ess(draws: np.ndarray) -> float:
    """Return how many independent draws have a mean as precise as that of dependent chains.

    The mean over chains, at each iteration, is one series: its variance holds whatever the chains
    have in common.
    """
    mean = draws.mean(0)
    alone = float(np.asarray(az.ess(mean[None], method="mean")))
    return alone * draws.var() / mean.var()
