"""Regressions whose design or bounds make a posterior awkward."""

from functools import cache

import numpy as np

from benchmarks.calibration.data.arrays import Arrays, correlated

SCALES = np.logspace(-4, 4, 9)
FAR = 1e5


@cache
def uniform_bound(rows: int = 5_000) -> Arrays:
    """Weights that are to be in [0, 1]: two lie beyond a bound, one on a bound, one inside."""
    rng = np.random.default_rng(9)
    weights = np.array([1.01, 1.0, -0.005, 0.5])
    features = correlated(rng, rows, len(weights), 0.3)
    response = features @ weights + rng.normal(0, 1.0, rows)
    return features, response.astype(np.float32)


@cache
def separation(rows: int = 5_000) -> Arrays:
    """Five correlated features, and a mark of 2 % of the rows whose responses are all ones."""
    rng = np.random.default_rng(10)
    features = correlated(rng, rows, 5, 0.5)
    marked = rng.random(rows) < 0.02
    logits = -0.5 + features @ rng.normal(0, 0.5, 5)
    response = marked | (rng.random(rows) < 1 / (1 + np.exp(-logits)))
    return np.column_stack([features, marked.astype(np.float32)]), response.astype(np.int32)


@cache
def t3(rows: int = 20_000, columns: int = 10) -> Arrays:
    """Features of 3 degrees of freedom, whose largest rows have far more leverage than others."""
    rng = np.random.default_rng(11)
    features = rng.standard_t(3, (rows, columns))
    response = 1.0 + features @ rng.normal(0, 0.5, columns) + rng.normal(0, 1.0, rows)
    return features.astype(np.float32), response.astype(np.float32)


@cache
def scaled(rows: int = 10_000) -> Arrays:
    """Columns of scales 1e-4 to 1e4 with comparable effects, and a response near 1e5."""
    rng = np.random.default_rng(12)
    columns = correlated(rng, rows, len(SCALES), 0.5)
    weights = rng.normal(0, 0.5, len(SCALES))
    response = FAR + columns @ weights + rng.normal(0, 1.0, rows)
    return (columns * SCALES).astype(np.float32), response.astype(np.float32)


@cache
def horseshoe(rows: int = 2_000, columns: int = 200, relevant: int = 10) -> Arrays:
    """Correlated features of which ten matter."""
    rng = np.random.default_rng(13)
    features = correlated(rng, rows, columns, 0.5)
    weights = np.zeros(columns)
    places = rng.choice(columns, relevant, replace=False)
    weights[places] = rng.uniform(0.1, 1.0, relevant) * rng.choice([-1, 1], relevant)
    return features, (features @ weights + rng.normal(0, 1.0, rows)).astype(np.float32)
