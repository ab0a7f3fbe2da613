"""Plot of an estimate along the run."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from numpyro_sgmcmc.results.entries import Entry, draws_of, entries, weights_of
from numpyro_sgmcmc.results.estimate import extrapolated, weighted_mean
from numpyro_sgmcmc.results.plots.canvas import finish, many_axes

POINTS = 80
FEWEST_DRAWS = 16
"""With fewer draws, a standard error by batch means is unreliable."""

MAX_PLOTS = 12


def plot_running_mean(
    data: Any, var_names: Sequence[str] | None = None, *, axes: Any = None
) -> list[Any]:
    """Plot the estimated mean of each entry against the number of draws used.

    The estimate is that of `expectation`: weighted for decreasing steps, extrapolated for
    Richardson-Romberg. The band shows two Monte Carlo standard errors to either side. Thin lines
    are the single chains. An estimate that still drifts out of its band has not converged.

    Args:
        data: result of `to_inference_data`.
        var_names: sites; all by default. The first 12 of their entries are plotted.
        axes: matplotlib axes, one for each entry; new ones by default.

    Returns:
        The axes.

    Raises:
        ImportError: if matplotlib is missing.
        ValueError: if a site is unknown, there are too few axes, or fewer than 4 draws.
    """
    chosen = entries(data, var_names)[:MAX_PLOTS]
    return [
        draw_running_mean(data, entry, one)
        for entry, one in zip(chosen, many_axes(axes, len(chosen)), strict=True)
    ]


def draw_running_mean(data: Any, entry: Entry, axes: Any) -> Any:
    """Plot the running mean of one entry."""
    values = extrapolated(data, lambda group: draws_of(data, group, entry))
    draw_band(axes, values, weights_of(data))
    return finish(axes, entry.label, "draws of a chain", "mean ± 2 standard errors")


def draw_band(axes: Any, values: np.ndarray, weights: np.ndarray) -> None:
    """Plot the running weighted mean of values (chain, draw), its band, and the single chains."""
    length = weights.shape[1]
    counts = np.unique(np.linspace(min(FEWEST_DRAWS, length), length, POINTS).round().astype(int))
    steps = [weighted_mean(values[:, :n], weights[:, :n]) for n in counts]
    mean = np.array([float(step.value) for step in steps])
    error = np.array([float(step.mcse) for step in steps])
    by_chain = np.cumsum(values * weights, axis=1) / np.cumsum(weights, axis=1)
    axes.plot(counts, by_chain[:, counts - 1].T, color="C1", linewidth=0.7, alpha=0.7)
    axes.fill_between(
        counts, mean - 2 * error, mean + 2 * error, color="C0", alpha=0.3, linewidth=0
    )
    axes.plot(counts, mean, color="C0")
