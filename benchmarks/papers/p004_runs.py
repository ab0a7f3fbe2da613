"""The runs behind figures 1 and 2 of Brosse et al. (2018)."""

from functools import cache, partial
from typing import Any

import jax.numpy as jnp
import numpy as np

from benchmarks.papers import logistic
from benchmarks.papers.common import Row, mean_and_error
from benchmarks.papers.p004_averages import distance_columns, mean_norm, trace_columns
from benchmarks.papers.simulate import Runner
from numpyro_sgmcmc import SGLD, SGLDFP

METHODS = ("LMC", "SGLDFP", "SGLD", "SGD")
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
    temperature = 0.0 if method == "SGD" else 1.0
    law = local.covariance(h, local.noise(method), temperature)
    norms = np.linalg.norm(by_chain[:, :2], axis=1)
    norm, norm_error = mean_and_error(norms)
    positions = out.positions[0].reshape(chains * blocks, 2)
    pull = logistic.gradient(x, y, positions)
    return {
        "method": method,
        "N": size,
        "step_size": float(h),
        "trajectories": chains,
        **trace_columns(method, (x, y), local, h, by_chain[:, 2] + by_chain[:, 4], positions, pull),
        "trace_theorem": float(np.trace(law)),
        **distance_columns(local, by_chain[:, :2], positions, pull),
        "distance_theorem": float(np.linalg.norm(local.bias(law))),
        "norm": float(norm),
        "norm_error": float(norm_error),
        "norm_exact": mean_norm(local, h, law, local.noise(method), temperature, steps),
        "posterior_trace": float(np.trace(np.linalg.inv(local.hessian))),
    }


def rows_of(quick: bool) -> list[Row]:
    """Return the rows of the figures, or a few of them."""
    if quick:
        return runs((1_000, 10_000), ("SGLDFP", "SGLD"), 100)
    # LMC's cost grows as N^2: its largest N is left out, the one before gets fewer trajectories.
    return runs(SIZES[:-1], METHODS, TRAJECTORIES) + runs(SIZES[-1:], METHODS[1:], TRAJECTORIES)
