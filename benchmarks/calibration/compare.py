"""Is a posterior right? Each scalar's mean and standard deviation beside the reference's.

A mean may be 0.1 reference standard deviations off, a standard deviation 5 %, each plus 4 Monte
Carlo standard errors of both runs together. A scalar whose true error lies exactly at its bound
fails by chance with probability 3e-5 a comparison: at most 10 % for the 3,169 comparisons of the
whole table, and nearly 0 where the true errors are well below. Effective sample sizes have no
allowance.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpyro.diagnostics import effective_sample_size, split_gelman_rubin

MEAN_BOUND = 0.1
SD_BOUND = 0.05
Z = 4.0
SMALLEST_ESS = 400

COLUMNS = ("mean", "sd", "mcse", "mcse_sd", "ess", "rhat")

NO_PLACES: Mapping[str, slice] = {}

Labels = Mapping[str, tuple[str, ...]]
Law = dict[str, dict[str, float]]


class Comparison(NamedTuple):
    """Errors of one posterior, the worst of each kind with its scalar's name.

    Attributes:
        mean_error: of a mean, in reference standard deviations.
        mean_of: the scalar.
        sd_ratio: of a standard deviation to the reference's.
        sd_of: the scalar.
        mean_sd_ratio: the mean of all these ratios, which a single scalar's chance hardly moves.
        smallest_ess: the smallest effective sample size.
        ess_of: the scalar.
        largest_rhat: the largest R-hat.
        scalars: how many were compared.
        too_far: how many means and standard deviations are beyond their bounds.
    """

    mean_error: float
    mean_of: str
    sd_ratio: float
    sd_of: str
    mean_sd_ratio: float
    smallest_ess: float
    ess_of: str
    largest_rhat: float
    scalars: int
    too_far: int


def scalars(
    samples: Mapping[str, Any], labels: Labels, places: Mapping[str, slice] = NO_PLACES
) -> dict[str, np.ndarray]:
    """Return draws of shape (chains, draws) by `site` or `site[label]`.

    Args:
        samples: draws by site, (chains, draws, ...).
        labels: names of a vector's entries; their places where a site is missing.
        places: which entries of a raveled site are taken; all where a site is missing.
    """
    found = {}
    for site, draws in samples.items():
        draws = np.asarray(draws)
        indices = list(np.ndindex(*draws.shape[2:]))
        names = labels.get(site) or [",".join(map(str, index)) for index in indices]
        for place in range(len(indices))[places.get(site, slice(None))]:
            label = f"[{names[place]}]" if draws.ndim > 2 else ""
            found[site + label] = draws[(..., *indices[place])]
    return found


def law(draws: Mapping[str, np.ndarray]) -> Law:
    """Return mean, sd, their standard errors, effective sample size and R-hat by scalar."""
    values = np.stack(list(draws.values()), axis=-1).astype(np.float64)
    mean, sd = values.mean((0, 1)), values.std((0, 1))
    ess = effective_sample_size(values)
    square = (values - mean) ** 2
    mcse_sd = square.std((0, 1)) / np.sqrt(effective_sample_size(square)) / (2 * sd)
    columns = {
        "mean": mean,
        "sd": sd,
        "mcse": sd / np.sqrt(ess),
        "mcse_sd": mcse_sd,
        "ess": ess,
        "rhat": split_gelman_rubin(values),
    }
    return {
        column: {name: float(f"{x:.8g}") for name, x in zip(draws, of, strict=True)}
        for column, of in columns.items()
    }


def compare(found: Law, reference: Law) -> Comparison:
    """Compare the scalars of a run with a reference that has all of them."""
    names = list(found["mean"])
    ours = {column: _column(found, column, names) for column in COLUMNS}
    sd = _column(reference, "sd", names)
    mcse, mcse_sd = _errors(reference, names, sd)
    mean_error = (ours["mean"] - _column(reference, "mean", names)) / sd
    ratio = ours["sd"] / sd
    mean_bound = MEAN_BOUND + Z * np.hypot(ours["mcse"], mcse) / sd
    sd_bound = SD_BOUND + Z * np.hypot(ours["mcse_sd"], ratio * mcse_sd) / sd
    # NaN is too far as well.
    far = ~(np.abs(mean_error) <= mean_bound), ~(np.abs(ratio - 1) <= sd_bound)
    # The worst is the one that most exceeds what chance allows it.
    mean_at = _worst(np.abs(mean_error) / mean_bound)
    sd_at = _worst(np.abs(ratio - 1) / sd_bound)
    ess_at = _worst(-ours["ess"])
    return Comparison(
        float(mean_error[mean_at]),
        names[mean_at],
        float(ratio[sd_at]),
        names[sd_at],
        float(ratio.mean()),
        float(ours["ess"][ess_at]),
        names[ess_at],
        float(ours["rhat"].max()),
        len(names),
        int(sum(map(np.sum, far))),
    )


def _column(table: Law, column: str, names: list[str]) -> np.ndarray:
    return np.array([table[column][name] for name in names])


def _errors(reference: Law, names: list[str], sd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return standard errors of a reference; older files have effective sample sizes only."""
    if "mcse" in reference:
        return _column(reference, "mcse", names), _column(reference, "mcse_sd", names)
    ess = _column(reference, "ess", names)
    return sd / np.sqrt(ess), sd / np.sqrt(2 * ess)


def _worst(values: np.ndarray) -> int:
    return int(np.argmax(np.where(np.isnan(values), np.inf, values)))
