"""Data of models whose parameters mean nothing one by one."""

from functools import cache
from typing import Any

import numpy as np

from benchmarks.calibration.data.arrays import Split, frame

FILM_RATINGS = 10
HELD_OUT = 0.1
DIGITS_HELD_OUT = 360


@cache
def movielens() -> Split:
    """User, film and rating, for films with at least ten ratings; a tenth is held out."""
    table = frame("dslabs", "movielens")
    film, user = (np.asarray(table[name]) for name in ("movieId", "userId"))
    rating = np.asarray(table["rating"], np.float32)
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
