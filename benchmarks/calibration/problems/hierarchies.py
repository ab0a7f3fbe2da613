"""Rows in groups."""

from functools import cache, partial
from typing import Any

from benchmarks.calibration import data, models
from benchmarks.calibration.problems.problem import Problem, problem
from examples.data import flights
from examples.models import late_arrival

FIRST = slice(50)
LOWER = slice(2, 3)
"""The one entry of a 2 x 2 Cholesky factor of correlations that is neither constant nor implied."""

AIRCRAFT = 629
STUDENTS, LECTURERS = 2_972, 1_128


@cache
def _flight_labels() -> dict[str, tuple[str, ...]]:
    table = flights()
    return {
        "coefficients": table.feature_names,
        "carrier_intercept": table.carrier_names,
        "origin_effect": table.origin_names,
    }


def _aircraft(form: str, model: Any) -> Problem:
    return Problem(
        f"delays of 629 aircraft, {form}, N = 154,065, d = 632",
        data.aircraft,
        partial(model, groups=AIRCRAFT),
        1_000,
        "aircraft",
        places={"intercepts": FIRST, "raw": FIRST},
    )


ONE_LEVEL = {
    "flights": Problem(
        "late flights, hierarchical logistic, N = 327,346, d = 24",
        data.flights,
        partial(late_arrival, num_carriers=16, num_origins=3),
        1_000,
        "flights",
        labels=_flight_labels,
    ),
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
    "aircraft_centred": _aircraft("centred", models.centred),
    "aircraft_non_centred": _aircraft("non-centred", models.non_centred),
    "eight_schools": problem("eight schools, centred, N = 8, d = 10", "eight_schools", 8),
    "eight_schools_non_centred": Problem(
        "eight schools, non-centred, N = 8, d = 10",
        data.eight_schools,
        models.eight_schools_non_centred,
        8,
        "eight_schools",
    ),
}

MORE_LEVELS = {
    "insteval": Problem(
        "lecturers' marks, crossed, N = 73,421, d = 4,105",
        data.insteval,
        partial(models.insteval, students=STUDENTS, lecturers=LECTURERS),
        1_000,
        "insteval",
        places={"students": FIRST, "lecturers": FIRST},
    ),
    "lkj_slopes": problem(
        "80 correlated lines, N = 10,000, d = 166",
        "lkj_slopes",
        500,
        places={"correlation_root": LOWER},
    ),
    "nested": problem(
        "classes in schools, N = 12,000, d = 344", "nested", 500, places={"classes": FIRST}
    ),
}
