"""The kinetic temperature of the momentum."""

from typing import Any

import numpy as np

from numpyro_sgmcmc.results.entries import attributes_of
from numpyro_sgmcmc.results.plots.canvas import finish, one_axes
from numpyro_sgmcmc.results.plots.running import draw_band


def plot_kinetic_temperature(data: Any, *, ax: Any = None) -> Any:
    """Draw the running mean of p . p / d, with its band, against the temperature it should have.

    Gradient noise heats the momentum: a mean above the target says by how much. Thin lines are the
    single chains.

    Args:
        data: what `to_inference_data` returned, of dynamics with a momentum.
        ax: matplotlib axes; new ones by default.

    Raises:
        ImportError: where matplotlib is missing.
        ValueError: where there is no momentum, or fewer than 4 draws.
    """
    stats = data["sample_stats"]
    if "kinetic_temperature" not in stats:
        raise ValueError(
            "Expected `kinetic_temperature` in sample_stats; got none: these dynamics have no"
            " momentum."
        )
    axes = one_axes(ax)
    values = np.asarray(stats["kinetic_temperature"], np.float64)
    draw_band(axes, values, np.ones_like(values))
    target = float(attributes_of(data).get("temperature", 1.0))
    axes.axhline(target, color="C2", linewidth=1, linestyle="--")
    return finish(axes, "Kinetic temperature", "draws of a chain", "p·p / d, and its target")
