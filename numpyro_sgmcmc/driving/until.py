"""The precision at which a run may end."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np
from numpyro.diagnostics import effective_sample_size

from numpyro_sgmcmc.checks import check_number
from numpyro_sgmcmc.verdict.convergence import convergence

FIRST_CHECK = 100
"""Draws of a chain at the first check. Fewer say little about convergence."""
GROWTH = 1.1
"""Checks are at numbers of draws that grow by this factor, whatever the time between them is. Runs
therefore end at the same draw on every machine, and the checks' cost grows with log(draws)."""


class Reached(NamedTuple):
    """The precision of the draws so far.

    Attributes:
        is_enough: whether the run may end.
        sentence: the worst numbers.
    """

    is_enough: bool
    sentence: str


@final
@dataclass(frozen=True)
class Until:
    """A condition on the draws of all sites; see `until`.

    Attributes:
        ess: smallest bulk effective sample size, or None.
        r_hat: largest rank-normalised R-hat, or None.
        mcse: largest Monte Carlo standard error of the mean, by site.
    """

    ess: float | None = None
    r_hat: float | None = None
    mcse: Mapping[str, float] = field(default_factory=dict)

    def kept(self, chains: int) -> int:
        """Return how many draws of each chain a check must look at."""
        wanted = 4 * (self.ess or 0) / chains
        return 2 ** int(np.ceil(np.log2(max(wanted, 2_048))))

    def reached(self, draws: dict[str, np.ndarray], is_together: bool) -> Reached:
        """Return the precision of draws by site, (chain, draw, entry)."""
        words, is_enough = [], True
        if self.ess is not None or self.r_hat is not None:
            found = worst(draws, is_together)
            if self.ess is not None:
                is_enough &= found.ess >= self.ess
                words.append(f"smallest ESS {found.ess:.0f} ({found.ess_site})")
            if self.r_hat is not None:
                is_enough &= found.r_hat <= self.r_hat
                words.append(f"largest R-hat {found.r_hat:.3f} ({found.r_hat_site})")
        for name, bound in self.mcse.items():
            error = _mcse(draws[name])
            is_enough &= error <= bound
            words.append(f"Monte Carlo error of {name} {error:.2g}")
        return Reached(bool(is_enough), ", ".join(words))


class Worst(NamedTuple):
    """The worst numbers of all sites, and the sites."""

    ess: float
    ess_site: str
    r_hat: float
    r_hat_site: str


def until(
    ess: float | None = None,
    r_hat: float | None = None,
    mcse: Mapping[str, float] | None = None,
) -> Until:
    """Return a condition at which `run` ends before `num_samples`.

    All conditions that are given must hold. They are checked at 100 draws of each chain, and each
    time that the number of draws has grown by a tenth. A run that is stopped by a condition on its
    own draws ends slightly early on average, because the condition may be met by chance at one of
    the checks. Use stricter bounds than you need.

    The ESS is computed from at most a few thousand evenly spaced draws, which gives a lower bound.
    Of a site with more than 256 entries, 256 evenly spaced entries are checked.

    Args:
        ess: smallest effective sample size (ArviZ's bulk ESS) over all sites.
        r_hat: largest rank-normalised split R-hat over all sites.
        mcse: largest Monte Carlo standard error of the mean, by site, such as {"beta": 0.01}. Use a
            deterministic site for any other quantity.

    Raises:
        TypeError: if a bound is not a number, or `mcse` is not a mapping.
        ValueError: if there is no condition, or a bound is not positive, or `r_hat` is not above 1.
    """
    if ess is None and r_hat is None and not mcse:
        raise ValueError("Expected a condition; got none. Use until(ess=400, r_hat=1.01).")
    if mcse is not None and not isinstance(mcse, Mapping):
        raise TypeError(
            f"Expected `mcse` to be a mapping from sites to errors; got {mcse!r}. Use"
            ' until(mcse={"beta": 0.01}).'
        )
    if ess is not None:
        ess = check_number("ess", ess)
    if r_hat is not None and check_number("r_hat", r_hat) <= 1:
        raise ValueError(f"Expected `r_hat` above 1, such as 1.01; got {r_hat!r}.")
    bounds = {name: check_number(f"mcse[{name!r}]", bound) for name, bound in (mcse or {}).items()}
    return Until(ess, r_hat, bounds)


def next_check(draws: int) -> int:
    """Return the number of draws of the next check after so many draws."""
    check = FIRST_CHECK
    while check <= draws:
        check = int(np.ceil(check * GROWTH))
    return check


def worst(draws: dict[str, np.ndarray], is_together: bool) -> Worst:
    """Return the smallest ESS and the largest R-hat of draws by site, (chain, draw, entry)."""
    names = [name for name, array in draws.items() if array.size]
    if not names:
        return Worst(np.inf, "no site", 1.0, "no site")
    weights = np.ones(draws[names[0]].shape[:2])
    found = convergence(draws, names, weights, is_together)
    # What is not a number is the worst.
    sizes = {n: 0.0 if np.isnan(c.ess_bulk) else c.ess_bulk for n, c in found.items()}
    r_hats = {n: c.r_hat if np.isfinite(c.r_hat) else np.inf for n, c in found.items()}
    smallest, largest = min(sizes, key=lambda n: sizes[n]), max(r_hats, key=lambda n: r_hats[n])
    return Worst(float(sizes[smallest]), smallest, float(r_hats[largest]), largest)


def _mcse(draws: np.ndarray) -> float:
    """Return the largest Monte Carlo error of the entries' means."""
    array = np.asarray(draws, np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        sizes = np.asarray(effective_sample_size(array))
        errors = array.std((0, 1)) / np.sqrt(sizes)
    moves: Any = array.std((0, 1)) > 0
    return float(np.max(np.where(moves, np.nan_to_num(errors, nan=np.inf), 0.0)))
