"""How NUTS makes a reference: settings, and forms with the same posterior."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpyro.infer import init_to_median, init_to_uniform

from benchmarks.calibration import data, models
from benchmarks.calibration.models import sufficient
from benchmarks.calibration.models.latent import curve_features


class Recipe(NamedTuple):
    """What differs from NUTS on the problem's own model with 400 + 600 iterations.

    Attributes:
        model: a form with the same posterior; None is the problem's own.
        load: its arguments; None are the problem's own.
        form: what the form is, for the table.
        options: of `references.nuts`.
    """

    model: Callable | None = None
    load: Callable[[], tuple] | None = None
    form: str | None = None
    options: Mapping[str, Any] = {}


def moments(group: np.ndarray, response: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return each group's size, mean and sum of squares about it."""
    response = response.astype(np.float64)
    sizes = np.bincount(group)
    means = np.bincount(group, weights=response) / sizes
    return sizes, means, np.bincount(group, weights=(response - means[group]) ** 2)


def counted(features: np.ndarray, response: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the distinct rows, how often each occurs, and its ones."""
    cells, place = np.unique(features, axis=0, return_inverse=True)
    trials = np.bincount(place.ravel())
    return cells, trials, np.bincount(place.ravel(), weights=response).astype(int)


def counted_by_class(features: np.ndarray, response: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the distinct rows and how often each occurs with each class."""
    cells, place = np.unique(features, axis=0, return_inverse=True)
    counts = np.zeros((len(cells), response.max() + 1))
    np.add.at(counts, (place.ravel(), response), 1)
    return cells, counts


def least_squares(design: np.ndarray, response: np.ndarray) -> tuple[Any, ...]:
    """Return number of rows, fit, root of the cross product, and sum of squares about the fit."""
    design, response = design.astype(np.float64), response.astype(np.float64)
    fitted = np.linalg.lstsq(design, response)[0]
    rest = np.sum((response - design @ fitted) ** 2)
    return len(design), fitted, np.linalg.qr(design, mode="r"), rest


def _horseshoe() -> tuple[Any, ...]:
    features, response = data.horseshoe()
    return least_squares(np.column_stack([np.ones(len(features)), features]), response)


def _curve() -> tuple[Any, ...]:
    place, response = data.gaussian_process()
    return least_squares(np.asarray(curve_features(place)), response)


def _nested() -> tuple[np.ndarray, ...]:
    school, room, score = data.nested()
    return school, *moments(room, score)


def _scaled() -> tuple[Any, ...]:
    features, response = (x.astype(np.float64) for x in data.scaled())
    return features, response, data.SCALES, data.FAR


LONG = {"warmup": 1_000, "samples": 3_000}
CAREFUL = {"warmup": 1_000, "samples": 3_000, "target_accept_prob": 0.95}
# The gentle start keeps hidden units from saturating; NumPyro's annotation asks for an int.
START = init_to_uniform(radius=0.1)  # pyright: ignore[reportArgumentType]
WIDE = {"warmup": 200, "dense_mass": False, "init_strategy": START}

RECIPES = {
    "military": Recipe(
        sufficient.logistic_of_counts, lambda: counted(*data.military()), "counts", LONG
    ),
    "multinomial": Recipe(
        sufficient.multinomial_of_counts,
        lambda: counted_by_class(*data.multinomial()),
        "counts",
        LONG,
    ),
    "groups": Recipe(
        sufficient.grouped_by_moments, lambda: moments(*data.groups()), "moments", LONG
    ),
    "aircraft": Recipe(
        sufficient.grouped_by_moments,
        lambda: moments(*data.aircraft()),
        "moments",
        {"warmup": 1_000, "samples": 2_000, "dense_mass": False},
    ),
    "nested": Recipe(
        sufficient.nested_by_moments,
        _nested,
        "moments",
        {"warmup": 1_000, "samples": 4_000, "dense_mass": False},
    ),
    "eight_schools": Recipe(
        models.eight_schools_non_centred,
        form="non-centred",
        options={**CAREFUL, "samples": 10_000},
    ),
    "scaled": Recipe(sufficient.scaled_to_units, _scaled, "unit scales"),
    "horseshoe": Recipe(
        sufficient.horseshoe_by_moments,
        _horseshoe,
        "moments",
        {"warmup": 1_000, "samples": 1_500, "dense_mass": False, "target_accept_prob": 0.95},
    ),
    "uniform_bound": Recipe(options={"warmup": 500, "samples": 1_500}),
    "separation": Recipe(options={"warmup": 500, "samples": 1_500}),
    "quantile": Recipe(options={"warmup": 500, "samples": 1_000}),
    "lkj_slopes": Recipe(options={"init_strategy": init_to_median()}),
    "factor": Recipe(options={"init_strategy": init_to_median()}),
    "gaussian_process": Recipe(
        sufficient.curve_by_moments, _curve, "moments", CAREFUL | {"max_tree_depth": 10}
    ),
    "digits": Recipe(options={**WIDE, "samples": 400}),
    "movielens": Recipe(options={**WIDE, "samples": 1_000, "chains": 2}),
}
