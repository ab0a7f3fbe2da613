"""ArviZ's own figures of one entry: trace, ranks, autocorrelation."""

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

import arviz
import numpy as np
import xarray as xr

from numpyro_sgmcmc.results.entries import Entry, draws_of
from numpyro_sgmcmc.results.groups import ARVIZ_MAJOR
from numpyro_sgmcmc.results.plots.canvas import SIZE, finish
from numpyro_sgmcmc.results.report.svg import INK

az: Any = arviz
"""Typed as Any: its two versions take different arguments, and the type checker sees one."""

TRACE_POINTS = 500
"""Number of draws of a chain in a trace plot; more draws would not be visible."""

LAGS = 50


def _quiet(draw: Callable[[Any, Entry], Any]) -> Callable[[Any, Entry], Any]:
    """Silence a deprecation warning of matplotlib that ArviZ 0.x causes."""

    @wraps(draw)
    def drawn(data: Any, entry: Entry) -> Any:
        with warnings.catch_warnings():
            message = "Passing a dict or None as alias_mapping"
            warnings.filterwarnings("ignore", message, DeprecationWarning)
            return draw(data, entry)

    return drawn


@_quiet
def trace(data: Any, entry: Entry) -> Any:
    """Return a trace plot of an entry."""
    stride = -(-data["posterior"].sizes["draw"] // TRACE_POINTS)
    chains = _alone(data, entry, stride)
    if ARVIZ_MAJOR == 0:
        # ArviZ 0.x draws a density as well, for which a phone has no room.
        density, beside = _new_axes(), _new_axes()
        _close(density.figure)
        az.plot_trace(chains, axes=np.array([[density, beside]]), compact=False)
        axes = beside
    else:
        axes = _axes(az.plot_trace(chains, visuals={"trace": {"alpha": 0.6}}, **_canvas()))
    return finish(axes, entry.label, "draw", "").figure


@_quiet
def rank(data: Any, entry: Entry) -> Any:
    """Return a rank plot of an entry."""
    if ARVIZ_MAJOR == 0:
        axes: Any = _new_axes()
        az.plot_rank(_alone(data, entry), ax=axes)
        return finish(axes, entry.label, "rank among all draws", "chain").figure
    collection = az.plot_rank(_alone(data, entry), **_canvas())
    # ArviZ derives the colour of marked points from the background, which is transparent here.
    for points in collection.viz.get("suspicious_points", default={}).values():
        points.item().set_color(INK)
    axes = _axes(collection)
    return finish(axes, entry.label, "rank, as a share", "excess of the ECDF").figure


@_quiet
def autocorrelation(data: Any, entry: Entry) -> Any:
    """Return an autocorrelation plot of an entry."""
    lags = min(LAGS, data["posterior"].sizes["draw"] - 1)
    if ARVIZ_MAJOR == 0:
        axes: Any = _new_axes()
        az.plot_autocorr(_alone(data, entry), max_lag=lags, combined=True, ax=axes)
        axes.set_ylim(-0.2, 1.0)
    else:
        axes = _axes(az.plot_autocorr(_alone(data, entry), max_lag=lags, **_canvas()))
    return finish(axes, entry.label, "lag in draws", "autocorrelation").figure


def _alone(data: Any, entry: Entry, stride: int = 1) -> Any:
    posterior = data["posterior"]
    dataset = xr.Dataset(
        # A fixed name: labels may contain slashes, which xarray's trees refuse.
        {"entry": (("chain", "draw"), draws_of(data, "posterior", entry)[:, ::stride])},
        {"chain": posterior["chain"].values, "draw": posterior["draw"].values[::stride]},
    )
    return dataset if ARVIZ_MAJOR == 0 else xr.DataTree.from_dict({"posterior": dataset})


def _new_axes() -> Any:
    import matplotlib.pyplot as pyplot

    return pyplot.subplots(figsize=SIZE, layout="constrained")[1]


def _canvas() -> dict[str, Any]:
    return {"backend": "matplotlib", "figure_kwargs": {"figsize": SIZE, "layout": "constrained"}}


def _axes(collection: Any) -> Any:
    return next(iter(collection.viz["plot"].data_vars.values())).item()


def _close(figure: Any) -> None:
    import matplotlib.pyplot as pyplot

    pyplot.close(figure)
