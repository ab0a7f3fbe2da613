"""The lines at the top of a report, and the table of the run's settings."""

from typing import Any, NamedTuple

import numpy as np

from numpyro_sgmcmc.results.entries import attributes_of

WORDS = 8
"""How many numbers of a key, or of all chains' keys, a report shows."""


class Verdict(NamedTuple):
    """One line about the run; `kind` is good, bad or unknown."""

    kind: str
    line: str


def verdict_line(data: Any) -> Verdict:
    """Return the verdict stored with the data."""
    attributes = attributes_of(data)
    if "verdict" not in attributes:
        return Verdict("unknown", "No verdict: the data were made with verdict=False.")
    return Verdict("good" if attributes.get("calibrated") else "bad", str(attributes["verdict"]))


def convergence_line(data: Any, table: Any) -> str:
    """Return smallest effective sample size, largest R-hat and share of diverged draws."""
    diverging = np.asarray(data["sample_stats"]["diverging"])
    diverged = f"{diverging.mean():.1%} of {diverging.size:,} draws diverged."
    # Entries that the support fixes have NaN here, which would hide the other values.
    ess, r_hat = (column.dropna() for column in (table["ess_bulk"], table["r_hat"]))
    words = []
    if len(ess):
        words.append(f"Smallest effective sample size {ess.min():,.0f} ({ess.idxmin()})")
    if len(r_hat):
        words.append(f"largest R-hat {r_hat.max():.3f} ({r_hat.idxmax()})")
    return "; ".join([*words, diverged])


def how_it_was_run(data: Any) -> list[tuple[str, str]]:
    """Return the attributes of the run as names and texts."""
    attributes = attributes_of(data)
    rows = [
        (name.replace("_", " "), _in_words(value))
        for name, value in attributes.items()
        if name not in ("verdict", "calibrated") and _in_words(value) != "nan"
    ]
    shape = np.shape(data["sample_stats"]["diverging"])
    return [("chains × draws", f"{shape[0]:,} × {shape[1]:,}"), *rows]


def _in_words(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    if isinstance(value, list | np.ndarray):
        words = " ".join(str(word) for word in value[:WORDS])
        return words if len(value) <= WORDS else f"{words} … ({len(value):,} numbers)"
    return str(value)
