"""The step size along a run."""

from typing import Any

import numpy as np

from numpyro_sgmcmc.results.plots.canvas import finish, one_axes


def plot_step_size(data: Any, *, ax: Any = None) -> Any:
    """Draw the step size at each draw.

    Args:
        data: what `to_inference_data` returned.
        ax: matplotlib axes; new ones by default.

    Raises:
        ImportError: where matplotlib is missing.
    """
    axes = one_axes(ax)
    steps = np.asarray(data["sample_stats"]["step_size"], np.float64)
    # Chains share a schedule; only where they do not is there more than one line to see.
    axes.plot(np.arange(steps.shape[1]), np.unique(steps, axis=0).T, color="C0")
    axes.set_ylim(bottom=0.0)
    axes.ticklabel_format(axis="y", scilimits=(-3, 3))
    return finish(axes, "Step size", "draw of a chain", "h")
