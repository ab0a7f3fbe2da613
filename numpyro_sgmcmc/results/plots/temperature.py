"""Plot of the kinetic temperature."""

from typing import Any

import numpy as np

from numpyro_sgmcmc.results.entries import attributes_of
from numpyro_sgmcmc.results.plots.canvas import finish, one_axes
from numpyro_sgmcmc.results.plots.running import draw_band


def plot_kinetic_temperature(data: Any, *, ax: Any = None) -> Any:
    """Plot the running mean of p . p / d with its band, and the target temperature.

    Gradient noise heats the momentum, so that the mean exceeds the target. Thin lines are the
    single chains.

    Args:
        data: result of `to_inference_data`, for dynamics with a momentum.
        ax: matplotlib axes; new ones by default.

    Returns:
        The axes.

    Raises:
        ImportError: if matplotlib is missing.
        ValueError: if there is no momentum, or one of fixed length, or there are fewer than 4
            draws.
    """
    stats = data["sample_stats"]
    if "kinetic_temperature" not in stats:
        raise ValueError(
            "Expected `kinetic_temperature` in sample_stats; got none, because the dynamics have no"
            " momentum, or one of fixed length. Use a kernel such as SGHMCSplit."
        )
    axes = one_axes(ax)
    values = np.asarray(stats["kinetic_temperature"], np.float64)
    draw_band(axes, values, np.ones_like(values))
    target = float(attributes_of(data).get("temperature", 1.0))
    axes.axhline(target, color="C2", linewidth=1, linestyle="--")
    return finish(axes, "Kinetic temperature", "draws of a chain", "p·p / d, and its target")
