"""Tall regressions: correlated features from fixed seeds, and officers.

NumPy draws them, so that they are the same in single and double precision.
"""

from functools import cache

import numpy as np

from benchmarks.calibration.data.arrays import Arrays, correlated, frame


@cache
def logistic(rows: int = 100_000, columns: int = 20) -> Arrays:
    """Correlated features and a binary response, a third of it ones."""
    rng = np.random.default_rng(1)
    features = correlated(rng, rows, columns, 0.7)
    logits = -1.0 + features @ rng.normal(0, 0.3, columns)
    return features, (rng.random(rows) < 1 / (1 + np.exp(-logits))).astype(np.int32)


@cache
def military() -> Arrays:
    """Return indicators of branch, gender, race and Hispanic descent, and who is an officer.

    Warrant officers count as not commissioned. The base is a white man of the army.
    """
    table = frame("openintro", "military")
    columns = [table["branch"] == name for name in ("air force", "marine corps", "navy")]
    columns.append(table["gender"] == "female")
    races = ("ami/aln", "asian", "black", "multi", "p/i", "unk")
    columns += [table["race"] == name for name in races]
    columns.append(table["hisp"])
    features = np.stack([np.asarray(column, np.float32) for column in columns], axis=1)
    return features, np.asarray(table["grade"] == "officer", np.int32)


@cache
def poisson(rows: int = 50_000, columns: int = 8) -> Arrays:
    """Correlated features and counts of mean near 2."""
    rng = np.random.default_rng(2)
    features = correlated(rng, rows, columns, 0.5)
    rate = np.exp(0.5 + features @ rng.normal(0, 0.25, columns))
    return features, rng.poisson(rate).astype(np.int32)


@cache
def student_t(rows: int = 20_000, columns: int = 10) -> Arrays:
    """Correlated features and a response with errors of 4 degrees of freedom."""
    rng = np.random.default_rng(3)
    features = correlated(rng, rows, columns, 0.5)
    noise = 0.5 * rng.standard_t(4, rows)
    return features, (1.0 + features @ rng.normal(0, 0.5, columns) + noise).astype(np.float32)


@cache
def gaussian(rows: int = 10_000, columns: int = 50, condition: float = 1e4) -> Arrays:
    """Features whose cross product has this condition, a response, and its principal axes."""
    rng = np.random.default_rng(5)
    left = np.linalg.qr(rng.normal(size=(rows, columns)))[0]
    axes = np.linalg.qr(rng.normal(size=(columns, columns)))[0]
    lengths = np.logspace(0, np.log10(condition) / 2, columns)
    features = (left * lengths) @ axes.T
    response = features @ rng.normal(size=columns) + rng.normal(size=rows)
    return tuple(x.astype(np.float32) for x in (features, response, axes))
