"""Laws without Monte Carlo error: one is Gaussian, one is Gaussian given three scales."""

from typing import Any, NamedTuple

import numpy as np

from benchmarks.calibration import data

ENTRIES = 50
SCALES = ("student_spread", "lecturer_spread", "noise")
NEAR, WIDTHS = np.log([0.325, 0.5215, 1.1776]), np.array([0.021, 0.025, 0.0027])
"""Means and standard deviations of the log scales by NUTS: quadrature needs but rough ones."""

NODES = 3
INSTEVAL_NUTS = {"seconds": 701.0, "smallest_ess": 740.0, "form": "recorded, one chain"}
"""5,500 iterations of NUTS's defaults on the model itself, which are not repeated."""


def gaussian() -> dict[str, Any]:
    """Return the law of linear regression with unit noise and the prior N(0, 100)."""
    features, response, axes = (x.astype(np.float64) for x in data.gaussian())
    covariance = np.linalg.inv(features.T @ features + np.eye(features.shape[1]) / 100)
    mean = covariance @ features.T @ response
    means, sds = {}, {}
    sides = {"coefficients": np.eye(len(mean)), "principal": axes}
    for site, columns in sides.items():
        for place, column in enumerate(columns.T):
            means[f"{site}[{place}]"] = float(column @ mean)
            sds[f"{site}[{place}]"] = float(np.sqrt(column @ covariance @ column))
    return _law(means, sds)


class Crossed(NamedTuple):
    """Sums over ratings that the law of crossed effects depends on.

    Attributes:
        ratings: each student's number of ratings.
        marks: each student's sum of marks.
        design: sums of a student's ratings' other columns: lecturers, one, service.
        cross: cross product of these columns.
        products: theirs with the marks.
        squares: sum of squared marks.
        rows: number of ratings.
    """

    ratings: np.ndarray
    marks: np.ndarray
    design: np.ndarray
    cross: np.ndarray
    products: np.ndarray
    squares: float
    rows: int


def insteval() -> dict[str, Any]:
    """Integrate the three scales by Gauss-Hermite quadrature."""
    sums = _crossed(*data.insteval())
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    logs, means, variances = [], [], []
    for place in np.ndindex(NODES, NODES, NODES):
        z = nodes[list(place)]
        point = NEAR + WIDTHS * z
        log, mean, variance = _given(sums, point)
        logs.append(log + z @ z / 2 + np.log(weights[list(place)]).sum())
        means.append(np.concatenate([mean, np.exp(point)]))
        variances.append(np.concatenate([variance, np.zeros(3)]))
    share = np.exp(np.array(logs) - max(logs))
    share /= share.sum()
    mean = share @ means
    sd = np.sqrt(share @ variances + share @ (means - mean) ** 2)
    names = [f"{site}[{i}]" for site in ("students", "lecturers") for i in range(ENTRIES)]
    names += ["mean", "service", *SCALES]
    pairs = (dict(zip(names, x.tolist(), strict=True)) for x in (mean, sd))
    return _law(*pairs) | INSTEVAL_NUTS


def _crossed(
    student: np.ndarray, lecturer: np.ndarray, service: np.ndarray, mark: np.ndarray
) -> Crossed:
    mark, service = mark.astype(np.float64), service.astype(np.float64)
    width = lecturer.max() + 3
    design = np.zeros((student.max() + 1, width))
    cross = np.zeros((width, width))
    columns = (lecturer, np.full_like(lecturer, width - 2), np.full_like(lecturer, width - 1))
    values = (np.ones_like(mark), np.ones_like(mark), service)
    products = np.zeros(width)
    for column, value in zip(columns, values, strict=True):
        np.add.at(design, (student, column), value)
        np.add.at(products, column, value * mark)
        for other, factor in zip(columns, values, strict=True):
            np.add.at(cross, (column, other), value * factor)
    ratings, marks = np.bincount(student), np.bincount(student, weights=mark)
    return Crossed(ratings, marks, design, cross, products, float(mark @ mark), len(mark))


def _given(sums: Crossed, point: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the scales' log density at their logarithms, and the effects' law there.

    Students are eliminated: their precision is diagonal given the other effects. The priors are
    those of `models.insteval`.
    """
    student, lecturer, noise = np.exp(point)
    lecturers = len(sums.products) - 2
    prior = np.concatenate([np.full(lecturers, lecturer**-2.0), [2.0**-2, 1.0]])
    centre = np.zeros(lecturers + 2)
    centre[-2] = 3.0
    own = student**-2.0 + sums.ratings / noise**2
    reduced = sums.design / (noise**2 * own[:, None])
    precision = sums.cross / noise**2 + np.diag(prior) - reduced.T @ sums.design / noise**2
    linear = sums.products / noise**2 + prior * centre - reduced.T @ sums.marks / noise**2
    covariance = np.linalg.inv(precision)
    others = covariance @ linear
    students = sums.marks / (noise**2 * own) - reduced @ others
    first = reduced[:ENTRIES]
    spread = 1 / own[:ENTRIES] + np.einsum("ij,jk,ik->i", first, covariance, first)
    squares = sums.squares / noise**2 + 3.0**2 / 2.0**2
    squares -= np.sum(sums.marks**2 / own) / noise**4 + linear @ others
    log = -squares / 2 - sums.rows * np.log(noise) + np.log(prior).sum() / 2
    log -= len(own) * np.log(student) + np.log(own).sum() / 2 + np.linalg.slogdet(precision)[1] / 2
    log += point.sum() - (student**2 + lecturer**2 + noise**2 / 4) / 2
    kept = np.r_[:ENTRIES, lecturers, lecturers + 1]
    mean = np.concatenate([students[:ENTRIES], others[kept]])
    return log, mean, np.concatenate([spread, np.diag(covariance)[kept]])


def _law(means: dict[str, float], sds: dict[str, float]) -> dict[str, Any]:
    zeros = dict.fromkeys(means, 0.0)
    return {"mean": means, "sd": sds, "mcse": zeros, "mcse_sd": zeros, "exact": True}


LAWS = {"gaussian": gaussian, "insteval": insteval}
