"""What the runs of Brosse et al. (2018) average, and the exact identities that check it."""

from typing import Any

import numpy as np

from benchmarks.papers import logistic
from benchmarks.papers.common import Row, mean_and_error


def trace_columns(
    method: str,
    data: tuple[np.ndarray, np.ndarray],
    local: logistic.Local,
    h: float,
    by_chain: np.ndarray,
    positions: np.ndarray,
    pull: np.ndarray,
) -> Row:
    """Return the second moment about the mode: measured, and as stationarity demands."""
    noise = np.zeros((len(positions), 2, 2))
    if method != "LMC":
        noise = logistic.gradient_noise(*data, positions, local.mode if "FP" in method else None)
    temperature = 0.0 if method == "SGD" else 1.0
    balance = local.balance(h, positions - local.mode, pull, noise, temperature)
    demanded = balance.reshape(len(by_chain), -1).mean(1)
    trace, error = mean_and_error(by_chain)
    exact, _ = mean_and_error(demanded)
    return {
        "trace": float(trace),
        "trace_error": float(error),
        "trace_exact": float(exact),
        "trace_check_error": float(mean_and_error(by_chain - demanded)[1]),
    }


def distance_columns(
    local: logistic.Local, averages: np.ndarray, positions: np.ndarray, pull: np.ndarray
) -> Row:
    """Return |E z - mode|: from averages of z - mode - H^-1 grad U(z), and from plain averages."""
    rest = positions - local.mode - np.linalg.solve(local.hessian, pull.T).T
    shifts = rest.reshape(len(averages), -1, 2).mean(1)
    shift, error = mean_and_error(shifts)
    distance = np.linalg.norm(shift)
    along = (averages @ shift - shifts @ shift) / distance  # expectation 0, as E grad U = 0
    away, check = mean_and_error(along)
    return {
        "distance": float(distance),
        "distance_error": float(np.linalg.norm(error * shift) / distance),
        "distance_exact": float(distance + away),
        "distance_check_error": float(check),
    }


def mean_norm(
    local: logistic.Local, h: float, law: np.ndarray, noise: Any, temperature: float, steps: int
) -> float:
    """Return E |average - mode| of a trajectory, normal about the biased mean, by quadrature.

    Averages over n steps of z <- z - h (H z + error) + sqrt(2) dW have the covariance
    H^-1 (V + 2 T / h) H^-1 / n, with V the gradient noise's covariance where the walker is.
    """
    rows = noise.linear
    spread = noise.weight * np.einsum("nij,jk,nlk->il", rows, law, rows) / len(rows)
    added = noise.at_mode + spread + 2 * temperature / h * np.eye(2)
    inverse = np.linalg.inv(local.hessian)
    root = np.linalg.cholesky(inverse @ added @ inverse / (0.9 * steps))
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    grid = np.stack(np.meshgrid(nodes, nodes), -1).reshape(-1, 2) @ root.T + local.bias(law)
    return float(np.outer(weights, weights).ravel() @ np.linalg.norm(grid, axis=1) / 2 / np.pi)
