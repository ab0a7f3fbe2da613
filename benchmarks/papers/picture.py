"""How the pictures look: 700 px wide, the exact law as lines, measurements as points."""

from collections.abc import Iterable, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#882255")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
STYLE: Any = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
}


def panels(count: int, height: float = 3.8, rows: int = 1) -> tuple[Any, list[Any]]:
    """Return a figure 700 px wide and its axes, logarithmic on both sides."""
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            rows, count // rows, figsize=(7.0, height), layout="constrained", squeeze=False
        )
        for axis in axes.flat:
            axis.loglog()
    return figure, list(axes.flat)


def label(axis: Any, title: str, x: str, y: str) -> None:
    """Name the axes."""
    axis.set_title(title, fontsize=9)
    axis.set_xlabel(x)
    axis.set_ylabel(y)


def ticks(side: Any, values: Sequence[float]) -> None:
    """Mark these values of an axis, `axis.xaxis` or `axis.yaxis`, and no others."""
    side.set_major_locator(FixedLocator(values))
    side.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    side.set_minor_locator(NullLocator())


def points(
    axis: Any, x: np.ndarray, y: np.ndarray, error: np.ndarray | None, number: int, name: str
) -> None:
    """Draw measurements, with one standard error where it is larger than the marker."""
    # Hollow and of several sizes: methods that agree lie on top of each other.
    style = {"fmt": MARKERS[number], "color": COLOURS[number], "mfc": "none", "label": name}
    axis.errorbar(x, y, yerr=error, lw=1, capsize=2, ms=(5, 5, 8, 5, 7, 9, 5, 8)[number], **style)


def line(axis: Any, x: np.ndarray, y: np.ndarray, number: int, **style: Any) -> None:
    """Draw an exact law in the colour of its measurements."""
    axis.plot(x, y, **({"color": COLOURS[number], "lw": 1.3, "zorder": 1} | style))


def legend(
    figure: Any, axis: Any, columns: int, note: str | None = None, others: Iterable[Any] = ()
) -> None:
    """Put one legend below all panels, where it covers no data.

    It has the labels of `axis`, and those that `others` have besides.
    """
    handles, names = axis.get_legend_handles_labels()
    for other in others:
        for handle, name in zip(*other.get_legend_handles_labels(), strict=True):
            if name not in names:
                handles.append(handle)
                names.append(name)
    if note is not None:
        handles.append(Line2D([], [], color="0.3", lw=1.3))
        names.append(note)
    figure.legend(
        handles, names, loc="outside lower center", ncols=columns, frameon=False, fontsize=8.5
    )
