"""Rows in groups, flights of aircraft, and ratings of lecturers."""

from functools import cache

import numpy as np

from benchmarks.calibration.data.arrays import Arrays, frame
from examples import data as examples_data

GROUPS = 100
AIRCRAFT_FLIGHTS = 150


@cache
def flights() -> Arrays:
    """Return what `examples.models.late_arrival` takes."""
    return examples_data.flights().arrays


@cache
def groups(rows: int = 20_000) -> Arrays:
    """Each row's group and response; sizes go from 3 to 2,609, 29 of 100 are below 25."""
    rng = np.random.default_rng(4)
    weights = rng.lognormal(0, 1.5, GROUPS)
    sizes = np.maximum(np.round(rows * weights / weights.sum()).astype(int), 2)
    group = np.repeat(np.arange(GROUPS), sizes)
    response = rng.normal(1.0, 0.5, GROUPS)[group] + rng.normal(0, 1.0, len(group))
    return group.astype(np.int32), response.astype(np.float32)


@cache
def insteval() -> Arrays:
    """Return each rating's student, lecturer, whether another department is served, and mark."""
    table = frame("lme4", "InstEval")
    student, lecturer = (
        np.unique(table[name].astype(str), return_inverse=True)[1].astype(np.int32)
        for name in ("s", "d")
    )
    service = np.asarray(table["service"].astype(int), np.float32)
    return student, lecturer, service, np.asarray(table["y"], np.float32)


@cache
def aircraft() -> Arrays:
    """Return each flight's aircraft and its delay on arrival in hours."""
    table = frame("nycflights13", "flights")[["tailnum", "arr_delay"]].dropna()
    _, tail, counts = np.unique(
        np.asarray(table["tailnum"], str), return_inverse=True, return_counts=True
    )
    kept = counts[tail] >= AIRCRAFT_FLIGHTS
    tail = np.unique(tail[kept], return_inverse=True)[1].astype(np.int32)
    return tail, (np.asarray(table["arr_delay"])[kept] / 60).astype(np.float32)


@cache
def eight_schools() -> Arrays:
    """Rubin's (1981) effects of coaching, and their standard errors."""
    effect = np.array([28, 8, -3, 7, -1, 1, 18, 12], np.float32)
    return effect, np.array([15, 10, 16, 11, 9, 11, 10, 18], np.float32)


@cache
def lkj_slopes(rows: int = 10_000, groups: int = 80) -> Arrays:
    """Return each row's group, feature and response, of lines whose two numbers correlate."""
    rng = np.random.default_rng(18)
    lines = rng.multivariate_normal([1.0, -0.5], [[0.25, 0.09], [0.09, 0.09]], groups)
    group, feature = rng.integers(0, groups, rows), rng.normal(size=rows)
    response = lines[group, 0] + lines[group, 1] * feature + rng.normal(0, 1.0, rows)
    return group.astype(np.int32), feature.astype(np.float32), response.astype(np.float32)


@cache
def nested(rows: int = 12_000, classes: int = 300, schools: int = 40) -> Arrays:
    """Return each class's school, each pupil's class, and each pupil's score."""
    rng = np.random.default_rng(19)
    school = np.concatenate([np.arange(schools), rng.integers(0, schools, classes - schools)])
    level = 2.0 + rng.normal(0, 0.6, schools)[school] + rng.normal(0, 0.3, classes)
    room = np.concatenate([np.arange(classes), rng.integers(0, classes, rows - classes)])
    score = level[room] + rng.normal(0, 1.0, rows)
    return school.astype(np.int32), room.astype(np.int32), score.astype(np.float32)
