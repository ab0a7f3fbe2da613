"""What a row of the table is made of."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from benchmarks.calibration import data, models

NOT_COMPARED = slice(0)


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
        classify: of one draw, the probability of each held-out row's classes; None where the
            response is no class.
        squared: whether the held-out response is a number, so that its squared error is compared.
        labels: names of the entries of sites that are vectors; places where a site is missing.
        double: whether it needs double precision, as the library says.
        places: which entries of a site are compared; all where a site is missing.
    """

    title: str
    load: Callable[[], Any]
    model: Callable
    batch: int
    reference: str
    predict: Callable | None = None
    classify: Callable | None = None
    squared: bool = False
    labels: Callable[[], Mapping[str, tuple[str, ...]]] = dict
    places: Mapping[str, slice] = {}
    double: bool = False

    @property
    def arguments(self) -> tuple[np.ndarray, ...]:
        """What the model is fitted to."""
        loaded = self.load()
        return loaded if self.predict is None else loaded.fit


def problem(title: str, name: str, batch: int, **options: Any) -> Problem:
    """Return the problem whose data, model and reference have this name."""
    return Problem(title, getattr(data, name), getattr(models, name), batch, name, **options)
