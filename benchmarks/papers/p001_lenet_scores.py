"""How good chances of classes are: scores of images, calibration, entropies, and their errors."""

from collections.abc import Callable

import numpy as np

BINS = 15
RESAMPLED = 400
Value = tuple[float, float]
Score = Callable[[np.ndarray, np.ndarray], float]


def accuracy(chances: np.ndarray, y: np.ndarray) -> float:
    """Return the share of images whose most probable class is right."""
    return float(np.mean(chances.argmax(-1) == y))


def log_score(chances: np.ndarray, y: np.ndarray) -> float:
    """Return the mean log chance of the images' classes."""
    own = np.take_along_axis(chances, y[:, None], axis=-1)
    return float(np.mean(np.log(np.maximum(own, np.finfo(np.float32).tiny))))


def reliability(chances: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return images, mean confidence and accuracy by bins of confidence, (3, bins)."""
    confidence, right = chances.max(-1), chances.argmax(-1) == y
    where = np.minimum((BINS * confidence).astype(int), BINS - 1)
    count = np.bincount(where, minlength=BINS)
    sums = [np.bincount(where, weights=w, minlength=BINS) for w in (confidence, right)]
    return np.stack([count, *(total / np.maximum(count, 1) for total in sums)])


def calibration_error(chances: np.ndarray, y: np.ndarray) -> float:
    """Return the mean distance of confidence and accuracy over bins of confidence."""
    count, confidence, right = reliability(chances, y)
    return float(np.sum(count * np.abs(confidence - right)) / count.sum())


def entropy(chances: np.ndarray, y: np.ndarray | None = None) -> float:
    """Return the mean entropy of the chances; the classes are not used."""
    return float(-np.mean(np.sum(chances * np.log(np.maximum(chances, 1e-30)), axis=-1)))


SCORES: dict[str, Score] = {
    "accuracy": accuracy,
    "log score": log_score,
    "calibration error": calibration_error,
}


def with_error(score: Score, chances: np.ndarray, y: np.ndarray) -> Value:
    """Return a score and its bootstrap error over images."""
    return score(chances, y), _spread(lambda i: score(chances[i], y[i]), len(y))


def difference(score: Score, a: np.ndarray, b: np.ndarray, y: np.ndarray) -> Value:
    """Return the score of `a` minus that of `b`, and its bootstrap error over the same images."""
    error = _spread(lambda i: score(a[i], y[i]) - score(b[i], y[i]), len(y))
    return score(a, y) - score(b, y), error


def _spread(of: Callable[[np.ndarray], float], images: int) -> float:
    rng = np.random.default_rng(11)
    return float(np.std([of(rng.integers(0, images, images)) for _ in range(RESAMPLED)], ddof=1))
