"""A curve, and items that share a factor."""

from functools import cache

import numpy as np

from benchmarks.calibration.data.arrays import Arrays


@cache
def gaussian_process(rows: int = 5_000) -> Arrays:
    """Return places in [-1, 1] and a noisy curve there."""
    rng = np.random.default_rng(16)
    place = rng.uniform(-1, 1, rows)
    curve = np.sin(5 * place) + 0.5 * np.cos(9 * place + 1)
    response = curve + rng.normal(0, 0.5, rows)
    return place.astype(np.float32), response.astype(np.float32)


@cache
def factor(rows: int = 1_500, items: int = 8) -> Arrays:
    """Answers to eight items, which share one factor."""
    rng = np.random.default_rng(17)
    loadings, scales = rng.uniform(0.2, 1.2, items), rng.uniform(0.5, 1.5, items)
    noise = rng.normal(size=(rows, items)) * scales
    answers = rng.normal(0, 1.0, items) + rng.normal(size=(rows, 1)) * loadings + noise
    return (answers.astype(np.float32),)
