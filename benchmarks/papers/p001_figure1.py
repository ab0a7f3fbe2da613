"""papers/001, figure 1: MSE of SGLD whose gradients are tau transitions old.

L = L_0 tau transitions at h = C (L tau^2)^(-1/3), from random starts. The paper's L_0, C and tau
are not legible in our copy: C is ours, well inside the stable range.
"""

import sys
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np

from benchmarks.papers.common import Finding, Row, Z, column, main, mean_and_error, select
from benchmarks.papers.delay import Delayed
from benchmarks.papers.delay_law import exact_errors
from benchmarks.papers.gaussian import (
    BATCH,
    ROWS,
    away_and_square,
    data,
    error_of_square,
    random_start,
)
from benchmarks.papers.picture import label, legend, line, panels, points
from benchmarks.papers.simulate import Runner
from numpyro_sgmcmc import SGLD, Plain
from tests.oracles import linear

SHORTEST = 500
CONSTANT = 1 / 400
DELAYS = (1, 2, 5, 10, 15, 20)
CHAINS = 400
BLOCKS = 20


def step_size(delay: int) -> float:
    """Return h = C (L tau^2)^(-1/3) with L = L_0 tau, so C L_0^(-1/3) / tau."""
    return CONSTANT * (SHORTEST * delay * delay**2) ** (-1 / 3)


def measure(quick: bool = False) -> list[Row]:
    """Return the MSE for each delay over its run."""
    return [row for delay in ((5,) if quick else DELAYS) for row in _measure(delay)]


def _measure(delay: int) -> list[Row]:
    model = partial(linear.model, scale=jnp.ones(1), subsample_size=BATCH)
    args = (jnp.ones((ROWS, 1, 1)), jnp.asarray(data()[:, None], jnp.float32))
    make = partial(SGLD, model, gradient=Delayed(Plain(), delay))
    h, block = step_size(delay), SHORTEST * delay // BLOCKS
    run = {"start": random_start(CHAINS), "burn_in": 0, "blocks": BLOCKS, "length": block}
    out = Runner(make, args, away_and_square)([h], **run)
    errors = error_of_square(out.running())[0]
    bias, bias_error = mean_and_error(errors)
    mse, mse_error = mean_and_error(errors**2)
    exact_bias, exact_mse = exact_errors(delay, h, BATCH, SHORTEST * delay)
    return [
        {
            "delay": delay,
            "steps": block * (i + 1),
            "step_size": h,
            "bias": float(bias[i]),
            "bias_error": float(bias_error[i]),
            "bias_exact": float(exact_bias[block * (i + 1) - 1]),
            "mse": float(mse[i]),
            "mse_error": float(mse_error[i]),
            "mse_exact": float(exact_mse[block * (i + 1) - 1]),
        }
        for i in range(BLOCKS)
    ]


def _final(delay: int) -> float:
    """Return the exact MSE at the end of a run with exact gradients."""
    return float(exact_errors(delay, step_size(delay), None, SHORTEST * delay)[1][-1])


def findings(rows: list[Row]) -> list[Finding]:
    """Compare the mean squared errors at the ends of the runs."""
    score = max(
        abs(row[name] - row[f"{name}_exact"]) / row[f"{name}_error"]
        for row in rows[BLOCKS - 1 :: BLOCKS]
        for name in ("bias", "mse")
    )
    ends = [select(rows, delay=d)[-1] for d in sorted({row["delay"] for row in rows})]
    first, last = ends[0], ends[-1]
    ratio = [first[k] / last[k] for k in ("mse", "mse_exact")]
    smooth = [_final(row["delay"]) for row in (first, last)]
    delays = f"tau = {first['delay']} and {last['delay']}"
    exact = f"{ratio[1]:.1f}; {smooth[0] / smooth[1]:.2f} with exact gradients"
    return [
        Finding(
            "the final MSE is about the same for every staleness",
            f"ratio {ratio[0]:.1f} between {delays}, all within {score:.1f} errors",
            exact,
            bool(0.5 < ratio[1] < 2),
            bool(score < Z),
        )
    ]


def draw(rows: list[Row]) -> Any:
    """Draw the MSE over each run, and at its end."""
    figure, (left, right) = panels(2)
    for number, delay in enumerate(DELAYS):
        mine = select(rows, delay=delay)
        few = [mine[i] for i in (0, 1, 4, BLOCKS - 1)]
        error = column(few, "mse_error")
        points(left, column(few, "steps"), column(few, "mse"), error, number, f"τ = {delay}")
        exact = exact_errors(delay, step_size(delay), BATCH, SHORTEST * delay)[1]
        shown = np.unique(np.geomspace(20, len(exact), 100).astype(int)) - 1
        line(left, shown + 1, exact[shown], number)
        end = mine[-1:]
        points(right, np.array([delay]), column(end, "mse"), column(end, "mse_error"), number, "")
    ends = [select(rows, delay=d)[-1] for d in DELAYS]
    right.plot(DELAYS, column(ends, "mse_exact"), color="0.3", lw=1.3, zorder=1)
    smooth = [_final(d) for d in DELAYS]
    right.plot(DELAYS, smooth, ":", color="0.3", lw=1.3)
    left.plot([], [], ":", color="0.3", label="exact, exact gradients")
    right.set_xticks(DELAYS, [str(d) for d in DELAYS])
    right.minorticks_off()
    label(left, "over the run", "transitions", r"MSE of $\theta^2$")
    label(right, "at the end, L = 500 τ", "staleness τ (transitions)", r"MSE of $\theta^2$")
    legend(figure, left, 4, f"exact, B = {BATCH}")
    return figure


if __name__ == "__main__":
    main(sys.modules[__name__])
