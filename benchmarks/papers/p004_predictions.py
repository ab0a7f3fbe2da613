"""The runs behind figure 4 of Brosse et al. (2018): test losses of draws and of their averages."""

from functools import partial

import numpy as np

from benchmarks.papers import logistic
from benchmarks.papers.common import Row, mean_and_error
from benchmarks.papers.p004_demanded import excess
from benchmarks.papers.p004_flights import Rows, flights
from benchmarks.papers.p004_runs import make
from benchmarks.papers.p004_scores import Posterior, chances, influence, loss, posterior
from benchmarks.papers.simulate import Runner

METHODS = ("SGLD", "SGLDFP", "SGD")
THINNING = 40
DISCARDED = 4
"""The first of so many equal parts of each run is left out."""
CHECKED = 2
"""Draws of each chain with which the exact values are computed: a pass over all rows each."""


def measured(size: int, chains: int, steps: int, seed: int) -> list[Row]:
    """Return the scores of all methods at N rows, as excess over the mode's."""
    rows = flights(size)
    mode, hessian = logistic.mode(rows.x, rows.y, 12)
    reference = posterior(rows, mode, hessian)
    at_mode = float(loss(chances(rows.signed, mode)))
    found = []
    for number, method in enumerate(METHODS):
        paths = _run(rows, mode, method, chains, steps, seed + number)
        for row in _rows(rows, mode, hessian, method, paths, reference):
            for name in ("measured", "exact", "posterior"):
                row[name] -= at_mode
            found.append({"method": method, "N": size, "chains": chains, "steps": steps} | row)
    slowest = float(np.linalg.eigvalsh(hessian)[0] / size)
    extra = {"at_mode": at_mode, "effective": reference.effective, "slowest": slowest}
    return [row | extra for row in found]


def _run(
    rows: Rows, mode: np.ndarray, method: str, chains: int, steps: int, seed: int
) -> np.ndarray:
    """Return all positions, (chains, steps, d)."""
    data, size = logistic.arrays(rows.x, rows.y), 1 / len(rows.x)
    runner = Runner(partial(make, method, mode), data, lambda state: state.z["theta"][:1], size)
    start = np.tile(mode, (chains, 1))
    runs = runner([size], start=start, burn_in=0, blocks=steps, length=1, seed=seed)
    return runs.positions[0]


def _rows(
    rows: Rows,
    mode: np.ndarray,
    hessian: np.ndarray,
    method: str,
    paths: np.ndarray,
    reference: Posterior,
) -> list[Row]:
    w, steps = rows.signed, paths.shape[1]
    counts = np.unique(np.geomspace(1, steps // THINNING, 12).round().astype(int))
    late = slice(steps // THINNING // DISCARDED, None)
    draws, averages, q = [], [], []
    for path in paths:
        each = chances(w, path[THINNING - 1 :: THINNING])
        sums = np.cumsum(each, axis=0)[counts - 1]
        averages.append(loss(sums / counts[:, None]))
        draws.append(loss(each[late]).mean())
        q.append(each[late].mean(0))
    draws, q = np.array(draws), np.array(q)
    # Far from each other and from the start.
    kept = np.linspace(steps // 2, steps - 1, CHECKED).astype(int)
    few = chances(w, paths[:, kept].reshape(-1, len(mode))).reshape(len(paths), CHECKED, -1)
    zero = excess(
        rows, hessian, mode, paths[:, kept], method == "SGLDFP", 0.0 if method == "SGD" else 1.0
    )
    exact = loss(few).mean(1) - zero.of_losses(w, mode)
    exact_q = few.mean(1) - zero.of_chances(w, mode)
    mean, exact_mean = q.mean(0), exact_q.mean(0)
    moves = influence(q, mean)
    off = moves - influence(exact_q, mean)
    found = [
        _row("draw", steps, draws, draws.mean(), exact.mean(), draws - exact),
        _row("prediction", steps, moves, loss(mean), loss(exact_mean), off),
    ]
    iterations = np.unique(np.geomspace(1, steps, 16).round().astype(int))
    for iteration in iterations:
        each = loss(chances(w, paths[:, iteration - 1]))
        found.append(_row("draw at", int(iteration), each, each.mean()))
    for count, each in zip(counts, np.array(averages).T, strict=True):
        found.append(_row("average to", int(count) * THINNING, each, each.mean()))
    for row in found:
        score = reference.draw if row["what"].startswith("draw") else reference.predictive
        row |= {"posterior": score.value, "posterior_error": score.error}
    return found


def _row(
    what: str,
    iteration: int,
    by_chain: np.ndarray,
    value: float,
    exact: float = float("nan"),
    check: np.ndarray | None = None,
) -> Row:
    return {
        "what": what,
        "iteration": iteration,
        "measured": float(value),
        "error": float(mean_and_error(by_chain)[1]),
        "exact": float(exact),
        "check_error": float("nan") if check is None else float(mean_and_error(check)[1]),
    }
