"""Gradient noise against injected noise."""

from typing import Any

import numpy as np

from numpyro_sgmcmc.results.groups import group_names
from numpyro_sgmcmc.results.plots.canvas import finish, one_axes

ALLOWED = 0.1
"""Share of the injected variance at which a standard deviation is 5 % too large."""


def plot_gradient_noise(data: Any, *, ax: Any = None) -> Any:
    """Draw what gradient noise adds to a step, as a share of the variance that is injected.

    One point for each direction (eigenvectors of the noise's covariance, in the preconditioner's
    coordinates). The share is, to first order, the relative excess of the stationary variance:
    below the dashed line at 10 % a standard deviation is less than 5 % too large, and at 1 there is
    as much gradient noise as injected noise. With a noise correction, hollow points are what it
    takes out of the injected noise, and filled ones what is then left, in modulus. Directions with
    less than 1e-4 of the largest share stand there.

    Args:
        data: what `to_inference_data` returned, with its verdict.
        ax: matplotlib axes; new ones by default.

    Raises:
        ImportError: where matplotlib is missing.
        ValueError: where the noise was not measured.
    """
    if "gradient_noise" not in group_names(data):
        raise ValueError(
            "Expected a group `gradient_noise`; got none: gradients are exact, the preconditioner"
            " follows the walker, or `to_inference_data` was told verdict=False."
        )
    axes = one_axes(ax)
    group = data["gradient_noise"]
    share = np.asarray(group["noise_share"], np.float64)
    left = share - np.asarray(group["noise_corrected"], np.float64)
    places = np.arange(1, len(share) + 1)
    # A direction without noise cannot stand on a logarithmic axis, or would stretch it.
    floor = max(share.max() * 1e-4, 1e-12)
    if not np.array_equal(left, share):
        before = np.maximum(share, floor)
        axes.plot(places, before, "o", color="C1", fillstyle="none", label="before the correction")
    axes.plot(places, np.maximum(np.abs(left), floor), "o", color="C0", label="left")
    axes.set_yscale("log")
    for height, style, words in ((1.0, "-", "injected noise"), (ALLOWED, "--", "5 % of a sd")):
        axes.axhline(height, color="C1", linewidth=1, linestyle=style)
        across = axes.get_yaxis_transform()  # the width of the axes, whatever the directions
        above = {"xytext": (0, 2), "textcoords": "offset points", "ha": "right", "va": "bottom"}
        axes.annotate(words, (0.99, height), xycoords=across, fontsize="small", **above)
    axes.margins(y=0.2)
    if len(axes.get_legend_handles_labels()[1]) > 1:
        axes.legend(fontsize="small", frameon=False)
    axes.xaxis.get_major_locator().set_params(integer=True)
    return finish(axes, "Gradient noise", "direction", "share of injected variance")
