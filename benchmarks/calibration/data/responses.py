"""Regressions with quantiles, ordered classes, classes and overdispersed counts as responses."""

from functools import cache

import numpy as np

from benchmarks.calibration.data.arrays import Arrays, correlated, frame

CUTS = np.array([-1.5, -0.5, 0.5, 1.8])
BRANCHES = ("army", "air force", "marine corps", "navy")


@cache
def quantile(rows: int = 5_000, columns: int = 6) -> Arrays:
    """Correlated features and a response whose spread depends on the first of them."""
    rng = np.random.default_rng(8)
    features = correlated(rng, rows, columns, 0.5)
    noise = (0.5 + 0.3 * np.abs(features[:, 0])) * rng.normal(size=rows)
    return features, (1.0 + features @ rng.normal(0, 0.5, columns) + noise).astype(np.float32)


@cache
def ordinal(rows: int = 20_000, columns: int = 6) -> Arrays:
    """Correlated features and five ordered classes."""
    rng = np.random.default_rng(14)
    features = correlated(rng, rows, columns, 0.5)
    latent = features @ rng.normal(0, 0.5, columns) + rng.logistic(size=rows)
    return features, np.searchsorted(CUTS, latent).astype(np.int32)


@cache
def negative_binomial(rows: int = 20_000, columns: int = 8) -> Arrays:
    """Correlated features and counts of concentration 1.5."""
    rng = np.random.default_rng(15)
    features = correlated(rng, rows, columns, 0.5)
    mean = np.exp(0.5 + features @ rng.normal(0, 0.25, columns))
    rate = mean * rng.gamma(1.5, 1 / 1.5, rows)
    return features, rng.poisson(rate).astype(np.int32)


@cache
def multinomial() -> Arrays:
    """Return indicators of grade, gender, race and Hispanic descent, and each member's branch.

    The base is an enlisted white man.
    """
    table = frame("openintro", "military")
    columns = [table["grade"] == name for name in ("officer", "warrant officer")]
    columns.append(table["gender"] == "female")
    races = ("ami/aln", "asian", "black", "multi", "p/i", "unk")
    columns += [table["race"] == name for name in races]
    columns.append(table["hisp"])
    features = np.stack([np.asarray(column, np.float32) for column in columns], axis=1)
    branch = np.asarray(table["branch"])
    return features, np.argmax([branch == name for name in BRANCHES], axis=0).astype(np.int32)
