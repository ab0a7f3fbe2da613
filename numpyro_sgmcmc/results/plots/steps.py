"""Plot of the step size along the run."""

from typing import Any

import numpy as np

from numpyro_sgmcmc.results.plots.canvas import finish, one_axes


def plot_step_size(data: Any, *, ax: Any = None) -> Any:
    """Plot the step size at each draw.

    Args:
        data: result of `to_inference_data`.
        ax: matplotlib axes; new ones by default.

    Returns:
        The axes.

    Raises:
        ImportError: if matplotlib is missing.
    """
    axes = one_axes(ax)
    steps = np.asarray(data["sample_stats"]["step_size"], np.float64)
    # Chains usually share a schedule, which is then one line.
    axes.plot(np.arange(steps.shape[1]), np.unique(steps, axis=0).T, color="C0")
    axes.set_ylim(bottom=0.0)
    axes.ticklabel_format(axis="y", scilimits=(-3, 3))
    return finish(axes, "Step size", "draw of a chain", "h")
