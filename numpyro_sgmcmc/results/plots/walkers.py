"""Plot of the coarse walker of Richardson-Romberg against the fine one."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from numpyro_sgmcmc.results.entries import Entry, draws_of, entries
from numpyro_sgmcmc.results.estimate import is_extrapolated
from numpyro_sgmcmc.results.plots.canvas import finish, many_axes
from numpyro_sgmcmc.results.plots.running import MAX_PLOTS

POINTS = 500


def plot_walkers(
    data: Any, var_names: Sequence[str] | None = None, *, axes: Any = None
) -> list[Any]:
    """Plot the draws of the coarse walker against those of the fine walker, for each entry.

    Walkers on one Brownian path stay near the diagonal. The further they are from it, the larger is
    the variance of extrapolated estimates.

    Args:
        data: result of `to_inference_data` for a Richardson-Romberg run.
        var_names: sites; all by default. The first 12 of their entries are plotted.
        axes: matplotlib axes, one for each entry; new ones by default.

    Returns:
        The axes.

    Raises:
        ImportError: if matplotlib is missing.
        ValueError: if there is no coarse walker, a site is unknown, or there are too few axes.
    """
    if not is_extrapolated(data):
        raise ValueError(
            "Expected a group `posterior_coarse`; got none. Use a Richardson-Romberg kernel, such"
            " as SGRRLD."
        )
    chosen = entries(data, var_names)[:MAX_PLOTS]
    return [
        draw_walkers(data, entry, one)
        for entry, one in zip(chosen, many_axes(axes, len(chosen)), strict=True)
    ]


def draw_walkers(data: Any, entry: Entry, axes: Any) -> Any:
    """Plot the walkers for one entry."""
    fine = draws_of(data, "posterior", entry).ravel()
    coarse = draws_of(data, "posterior_coarse", entry).ravel()
    some = np.unique(np.linspace(0, len(fine) - 1, POINTS).round().astype(int))
    axes.plot(fine[some], coarse[some], ".", color="C0", markersize=3, alpha=0.5)
    ends = [min(fine.min(), coarse.min()), max(fine.max(), coarse.max())]
    axes.plot(ends, ends, color="C1", linewidth=1)
    agreement = np.corrcoef(fine, coarse)[0, 1] if np.ptp(fine) and np.ptp(coarse) else np.nan
    return finish(axes, f"{entry.label}   correlation {agreement:.2f}", "fine", "coarse")
