"""The runs behind papers/004's figures 1 and 2."""

from functools import cache, partial
from typing import Any

import jax.numpy as jnp
import numpy as np

from benchmarks.papers import logistic
from benchmarks.papers.common import Finding, Row, Z, column, mean_and_error, select, slope
from benchmarks.papers.simulate import Runner
from numpyro_sgmcmc import SGLD, SGLDFP

METHODS = ("LMC", "SGLDFP", "SGLD", "SGD")
THEORY = {"LMC": -1.0, "SGLDFP": -1.0, "SGLD": 0.0, "SGD": 0.0}
SIZES = tuple(round(10**e) for e in np.linspace(2, 5, 7))
TRAJECTORIES = 100
MOST_ROWS = 3e9
"""Most row gradients of LMC at one N: 1,000 of its steps cost 10^8 at N = 10^5."""


def make(method: str, mode: np.ndarray, dial: Any) -> Any:
    """Return the kernel of a method."""
    anchor = {"theta": jnp.asarray(mode, jnp.float32)}
    if method == "LMC":
        return SGLD(partial(logistic.model, batch=None), dial)
    if method == "SGLDFP":
        return SGLDFP(logistic.model, dial, anchor=anchor)
    return SGLD(logistic.model, dial, temperature=0.0 if method == "SGD" else 1.0)


@cache
def runs(sizes: tuple[int, ...], methods: tuple[str, ...], trajectories: int) -> list[Row]:
    """Return, for each method and N, trace and distance with their errors and exact values.

    n = 1 / gamma steps of gamma = 1 / (1 + delta / 4), the first tenth discarded, as in the paper.
    Where the chain is stationary E grad U = 0, whatever the method. So the mean's distance to the
    mode is measured by the average of z - mode - H^-1 grad U(z), whose noise is as small as the
    distance itself, and not only by the paper's norm of a trajectory's average.
    """
    return [_measure(n, method, trajectories) for n in sizes for method in methods]


def _measure(size: int, method: str, trajectories: int) -> Row:
    x, y = logistic.simulate(size, 2)
    local = logistic.expand(x, y)
    h = 1 / (1 + np.linalg.eigvalsh(x.T @ x).max() / 4)
    steps = round(1 / h)
    chains = trajectories
    if method == "LMC":
        chains = int(np.clip(MOST_ROWS / (size * steps), 4, trajectories))
    centre, upper = jnp.asarray(local.mode, jnp.float32), np.triu_indices(2)

    def statistic(state: Any) -> Any:
        away = state.z["theta"] - centre
        return jnp.concatenate([away, jnp.outer(away, away)[upper]])

    runner = Runner(partial(make, method, local.mode), logistic.arrays(x, y), statistic, h)
    blocks = min(10, steps - steps // 10)
    out = runner(
        [h],
        start=np.tile(local.mode, (chains, 1)),
        burn_in=max(steps // 10, 10),
        blocks=blocks,
        length=max(1, (steps - steps // 10) // blocks),
    )
    by_chain = out.mean()[0]
    positions = out.positions[0].reshape(chains * blocks, 2)
    pull = np.linalg.solve(local.hessian, logistic.gradient(x, y, positions).T).T
    shifts = (positions - local.mode - pull).reshape(chains, blocks, 2).mean(1)
    shift, shift_error = mean_and_error(shifts)
    trace, trace_error = mean_and_error(by_chain[:, 2] + by_chain[:, 4])
    temperature = 0.0 if method == "SGD" else 1.0
    law = local.covariance(h, local.noise(method), temperature)
    distance = np.linalg.norm(shift)
    return {
        "method": method,
        "N": size,
        "step_size": float(h),
        "trajectories": chains,
        "trace": float(trace),
        "trace_error": float(trace_error),
        "trace_exact": float(np.trace(law)),
        "distance": float(distance),
        "distance_error": float(np.linalg.norm(shift_error * shift) / distance),
        "distance_exact": float(np.linalg.norm(local.bias(law))),
        "paper_distance": float(np.linalg.norm(by_chain[:, :2], axis=1).mean()),
        "paper_distance_exact": _mean_norm(local, h, law, local.noise(method), temperature, steps),
        "posterior_trace": float(np.trace(np.linalg.inv(local.hessian))),
    }


def _mean_norm(
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


def slope_finding(rows: list[Row], method: str, name: str, what: str) -> Finding:
    """Compare the slope of a column in N, from N = 1,000 on."""
    mine = [row for row in select(rows, method=method) if row["N"] >= 1_000]
    size, error = column(mine, "N"), column(mine, f"{name}_error")
    measured, spread = slope(size, column(mine, name), error)
    exact, _ = slope(size, column(mine, f"{name}_exact"), error)
    theory = THEORY[method]
    return Finding(
        f"{what} of {method} has slope {theory:.0f} in N",
        f"{measured:.3f} ± {spread:.3f}",
        f"{exact:.3f}",
        abs(exact - theory) < 0.15,
        abs(measured - exact) < Z * spread,
    )


def rows_of(quick: bool) -> list[Row]:
    """Return the rows of the figures, or a few of them."""
    if quick:
        return runs((1_000, 10_000), ("SGLDFP",), 100)
    # LMC's cost grows as N^2: its largest N is left out, the one before gets fewer trajectories.
    return runs(SIZES[:-1], METHODS, TRAJECTORIES) + runs(SIZES[-1:], METHODS[1:], TRAJECTORIES)
