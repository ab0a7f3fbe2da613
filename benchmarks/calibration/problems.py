"""The models with their data, minibatches and references, by name."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.calibration import data, models, scores
from examples.data import flights
from examples.models import late_arrival


class Problem(NamedTuple):
    """A model to be run without tuning.

    Attributes:
        title: what is fitted.
        load: returns the model's arguments, with rows to predict where `predict` is given.
        model: takes them and `subsample_size`.
        batch: rows in a minibatch.
        reference: name of the reference's file.
        predict: of one draw, log likelihood and fitted value of each held-out row; None compares
            the model's own sites.
        squared: whether the held-out response is a number, so that its squared error is compared.
        labels: names of the entries of sites that are vectors; places where a site is missing.
    """

    title: str
    load: Callable[[], Any]
    model: Callable
    batch: int
    reference: str
    predict: Callable | None = None
    squared: bool = False
    labels: Callable[[], Mapping[str, tuple[str, ...]]] = dict

    @property
    def arguments(self) -> tuple[np.ndarray, ...]:
        """What the model is fitted to."""
        loaded = self.load()
        return loaded if self.predict is None else loaded.fit


@cache
def _flight_labels() -> dict[str, tuple[str, ...]]:
    table = flights()
    return {
        "coefficients": table.feature_names,
        "carrier_intercept": table.carrier_names,
        "origin_effect": table.origin_names,
    }


def _problem(title: str, name: str, batch: int, **options: Any) -> Problem:
    return Problem(title, getattr(data, name), getattr(models, name), batch, name, **options)


PROBLEMS = {
    "logistic": _problem("logistic regression, N = 100,000, d = 21", "logistic", 500),
    "flights": Problem(
        "late flights, hierarchical logistic, N = 327,346, d = 24",
        data.flights,
        partial(late_arrival, num_carriers=16, num_origins=3),
        1_000,
        "flights",
        labels=_flight_labels,
    ),
    "military": Problem(
        "officers, logistic, N = 1,414,593, d = 12",
        data.military,
        models.logistic,
        1_000,
        "military",
    ),
    "poisson": _problem("Poisson regression, N = 50,000, d = 9", "poisson", 500),
    "student_t": _problem("Student-t regression, N = 20,000, d = 13", "student_t", 500),
    "centred": Problem(
        "100 intercepts, centred, N = 19,998, d = 103", data.groups, models.centred, 1_000, "groups"
    ),
    "non_centred": Problem(
        "100 intercepts, non-centred, N = 19,998, d = 103",
        data.groups,
        models.non_centred,
        1_000,
        "groups",
    ),
    "movielens": Problem(
        "film ratings, rank 5, N = 73,749, d = 17,498",
        data.movielens,
        partial(models.factorisation, users=671, films=2_245),
        1_000,
        "movielens",
        predict=scores.film_ratings,
        squared=True,
    ),
    "digits": Problem(
        "digits, 50 hidden units, N = 1,437, d = 3,760",
        data.digits,
        models.network,
        100,
        "digits",
        predict=scores.digits,
    ),
    "gaussian": _problem("Gaussian, condition 10,000, N = 10,000, d = 50", "gaussian", 1_000),
}
