"""Plot of the gradient noise against the injected noise."""

from typing import Any

import numpy as np

from numpyro_sgmcmc.results.groups import group_names
from numpyro_sgmcmc.results.plots.canvas import finish, one_axes

ALLOWED = 0.1
"""Share of the injected variance that makes a standard deviation 5 % too large."""


def plot_gradient_noise(data: Any, *, ax: Any = None) -> Any:
    """Plot the variance that gradient noise adds to a step, as a share of the injected variance.

    There is one point for each direction: the eigenvectors of the noise covariance in the
    preconditioner's coordinates. To first order the share is the relative excess of the stationary
    variance. Below the dashed line at 10 % a standard deviation is less than 5 % too large. At 1
    there is as much gradient noise as injected noise. With a noise correction, hollow points show
    the share before the correction, and filled points the absolute value of what remains.
    Directions with less than 1e-4 of the largest share are drawn at this value.

    Args:
        data: result of `to_inference_data`, with the verdict.
        ax: matplotlib axes; new ones by default.

    Returns:
        The axes.

    Raises:
        ImportError: if matplotlib is missing.
        ValueError: if the noise was not measured.
    """
    if "gradient_noise" not in group_names(data):
        raise ValueError(
            "Expected a group `gradient_noise`; got none. Either gradients are exact, or the"
            " preconditioner follows the walker, or the data were made with verdict=False. In the"
            " last case call to_inference_data(mcmc)."
        )
    axes = one_axes(ax)
    group = data["gradient_noise"]
    share = np.asarray(group["noise_share"], np.float64)
    left = share - np.asarray(group["noise_corrected"], np.float64)
    places = np.arange(1, len(share) + 1)
    # A logarithmic axis cannot show zero, and very small shares would stretch it.
    floor = max(share.max() * 1e-4, 1e-12)
    if not np.array_equal(left, share):
        before = np.maximum(share, floor)
        axes.plot(places, before, "o", color="C1", fillstyle="none", label="before the correction")
    axes.plot(places, np.maximum(np.abs(left), floor), "o", color="C0", label="left")
    axes.set_yscale("log")
    for height, style, words in ((1.0, "-", "injected noise"), (ALLOWED, "--", "5 % of a sd")):
        axes.axhline(height, color="C1", linewidth=1, linestyle=style)
        across = axes.get_yaxis_transform()  # x in units of the axes, y in units of the data
        above = {"xytext": (0, 2), "textcoords": "offset points", "ha": "right", "va": "bottom"}
        axes.annotate(words, (0.99, height), xycoords=across, fontsize="small", **above)
    axes.margins(y=0.2)
    if len(axes.get_legend_handles_labels()[1]) > 1:
        axes.legend(fontsize="small", frameon=False)
    axes.xaxis.get_major_locator().set_params(integer=True)
    return finish(axes, "Gradient noise", "direction", "share of injected variance")
