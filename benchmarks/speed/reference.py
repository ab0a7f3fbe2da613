"""Reference of figure 5: `python -m benchmarks.speed.reference` makes it anew, in a few minutes.

Importance sampling from the Laplace approximation, in double precision. At N = 10^6 the two are so
close that every draw counts nearly fully. Moments are the approximation's, which are known, plus
what the weights change in those of the draws: only that difference has a Monte Carlo error. The
file says the weights' Pareto k-hat, their effective size and that error.
"""

import json
from pathlib import Path
from typing import Any

import arviz
import numpy as np

from benchmarks.speed.conditioned import data, fingerprint
from benchmarks.speed.logistic import Data

PATH = Path(__file__).parent / "references" / "conditioned.json"
DRAWS = 2_000
AT_ONCE = 10_000
LARGEST_KHAT = 0.5


def load() -> dict[str, Any]:
    """Return the reference that was made."""
    return json.loads(PATH.read_text("utf-8"))


def derivatives(weights: np.ndarray, found: Data) -> tuple[np.ndarray, np.ndarray]:
    """Return gradient and Hessian of U."""
    gradient, hessian = weights.copy(), np.eye(len(weights))
    for x, y in blocks(found):
        chance = 1 / (1 + np.exp(-x @ weights))
        gradient -= x.T @ (y - chance)
        hessian += (x.T * (chance * (1 - chance))) @ x
    return gradient, hessian


def blocks(found: Data) -> Any:
    """Yield features and response in double precision, some rows at once."""
    features, response = map(np.asarray, found)
    for begin in range(0, len(features), AT_ONCE):
        rows = slice(begin, begin + AT_ONCE)
        yield features[rows].astype(np.float64), response[rows].astype(np.float64)


def mode_of(found: Data, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the mode and the Hessian there, by Newton's method."""
    weights = np.zeros(columns)
    for _ in range(50):
        gradient, hessian = derivatives(weights, found)
        move = np.linalg.solve(hessian, gradient)
        weights -= move
        if move @ hessian @ move < 1e-16:
            return weights, hessian
    raise RuntimeError("Newton's method has not arrived.")


def potentials(weights: np.ndarray, found: Data) -> np.ndarray:
    """Return U at each row of `weights`."""
    total = 0.5 * np.sum(weights**2, axis=1)
    for x, y in blocks(found):
        logits = x @ weights.T
        total += np.sum(np.log1p(np.exp(logits)), axis=0) - y @ logits
    return total


def corrected(white: np.ndarray, weights: np.ndarray) -> dict[str, np.ndarray]:
    """Return moments of weighted draws whose own law has mean 0 and variance 1, with their errors.

    `weights` have mean 1. The errors are standard errors in standard deviations.
    """
    excess = (weights - 1)[:, None]
    mean_moves, square_moves = excess * white, excess * (white**2 - 1)
    mean = mean_moves.mean(0)
    sd = np.sqrt(1 + square_moves.mean(0) - mean**2)
    root = np.sqrt(len(weights))
    errors = {"mean_error": mean_moves.std(0) / root, "sd_error": square_moves.std(0) / (2 * root)}
    return {"mean": mean, "sd": sd, **errors}


def make() -> dict[str, Any]:
    """Return the reference."""
    found = data()
    mode, hessian = mode_of(found, found[0].shape[1])
    covariance = np.linalg.inv(hessian)
    sd = np.sqrt(np.diag(covariance))
    root = np.linalg.cholesky(covariance)
    normal = np.random.default_rng(3).normal(size=(DRAWS, len(mode)))
    draws = mode + normal @ root.T
    log_weights = -potentials(draws, found) + 0.5 * np.sum(normal**2, axis=1)
    log_weights -= log_weights.max()
    khat = float(arviz.psislw(log_weights)[1])
    if khat >= LARGEST_KHAT:
        raise RuntimeError(f"Importance weights have k-hat {khat:.2f}.")
    weights = np.exp(log_weights) / np.exp(log_weights).mean()
    moments = corrected((draws - mode) / sd, weights)
    return {
        "mean": (mode + sd * moments["mean"]).tolist(),
        "sd": (sd * moments["sd"]).tolist(),
        "largest_mean_error_in_sd": float(moments["mean_error"].max()),
        "largest_relative_sd_error": float(moments["sd_error"].max()),
        "khat": khat,
        "draws": DRAWS,
        "effective_draws": float(DRAWS**2 / np.sum(weights**2)),
        "condition": float(np.linalg.cond(hessian)),
        "data": fingerprint(found),
    }


def main() -> None:
    """Make the reference and write it."""
    made = make()
    PATH.parent.mkdir(exist_ok=True)
    PATH.write_text(json.dumps(made, indent=2) + "\n", "utf-8")
    print({name: value for name, value in made.items() if name not in ("mean", "sd")})


if __name__ == "__main__":
    main()
