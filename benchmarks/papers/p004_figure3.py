"""Brosse et al. (2018), figure 3: variance of the stochastic gradient against N, step size 1 / N.

Synthetic rows of 10 covariates stand in for Covertype.
"""

import sys
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.papers import logistic
from benchmarks.papers.command import main
from benchmarks.papers.common import Row, column, mean_and_error, select, slope, worst_score
from benchmarks.papers.criteria import order
from benchmarks.papers.finding import Finding
from benchmarks.papers.p004_runs import make
from benchmarks.papers.picture import label, legend, line, panels, points
from benchmarks.papers.simulate import Runner
from numpyro_sgmcmc.kernels.stepping import stepper_of

TITLE = "Variance of the gradient"
MEASURED = ("measured",)
METHODS = ("SGLD", "SGLDFP", "SGD")
THEORY = {"SGLD": 2.0, "SGLDFP": 1.0, "SGD": 2.0}
COLUMNS = 10
MINIBATCHES = 50
CHAINS = 400


def measure(quick: bool = False) -> list[Row]:
    """Return the variance, averaged over stationary draws and coordinates, for each N."""
    sizes = (1_000, 3_162) if quick else (1_000, 3_162, 10_000, 31_623, 100_000)
    methods = METHODS[:2] if quick else METHODS
    return [_measure(n, method, 200 if quick else CHAINS) for n in sizes for method in methods]


def _measure(size: int, method: str, chains: int) -> Row:
    x, y = logistic.simulate(size, COLUMNS)
    local = logistic.expand(x, y)
    runner = Runner(
        partial(make, method, local.mode),
        logistic.arrays(x, y),
        lambda state: state.z["theta"],
        1 / size,
    )
    # Relaxation takes 1 / (h H) = N / H, about 6 steps: 200 forget the start.
    start = np.tile(local.mode, (chains, 1))
    out = runner([1 / size], start=start, burn_in=200, blocks=1, length=1)
    keys = jax.random.split(jax.random.key(1), chains)
    measured = np.asarray(jax.jit(jax.vmap(partial(_variance, runner)))(out.state, keys), float)
    positions = out.positions[0][:, 0]
    anchor = local.mode if method == "SGLDFP" else None
    exact = logistic.gradient_noise(x, y, positions, anchor).trace(axis1=1, axis2=2) / COLUMNS
    mean, error = mean_and_error(measured)
    noise = local.noise(method)
    law = local.covariance(1 / size, noise, 0.0 if method == "SGD" else 1.0)
    spread = np.einsum("nij,jk,nik->i", noise.linear, law, noise.linear) / size
    linear = np.diag(noise.at_mode) + noise.weight * spread
    return {
        "method": method,
        "N": size,
        "measured": float(mean),
        "error": float(error),
        "exact": float(exact.mean()),
        "check_error": float(mean_and_error(measured - exact)[1]),
        "linear": float(linear.mean()),
    }


def _variance(runner: Runner, state: Any, key: jax.Array) -> jax.Array:
    """Return the variance of the kernel's own gradient estimate at a chain's position."""
    kernel = runner.kernel
    stepper = stepper_of(kernel.options, kernel.structure, runner.args, {}, state.tuned)

    def estimate(key: jax.Array) -> jax.Array:
        minibatch, _ = stepper.minibatch(key, state.i, state.minibatch)
        gradient = stepper.transition.gradient
        return gradient.estimate(stepper.potential, state.z["theta"], minibatch, state.gradient)[
            0
        ].gradient

    gradients = jax.vmap(estimate)(jax.random.split(key, MINIBATCHES))
    return jnp.mean(jnp.var(gradients, axis=0, ddof=1))


def findings(rows: list[Row]) -> list[Finding]:
    """Compare slopes."""
    return [_slope(rows, method) for method in METHODS if select(rows, method=method)]


def _slope(rows: list[Row], method: str) -> Finding:
    mine = select(rows, method=method)
    size, error = column(mine, "N"), column(mine, "error")
    measured, spread = slope(size, column(mine, "measured"), error)
    exact, _ = slope(size, column(mine, "exact"), error)
    return Finding(
        f"variance of {method}'s gradient has slope {THEORY[method]:.0f} in N",
        f"{measured:.3f} ± {spread:.3f}",
        f"{exact:.3f}",
        order(THEORY[method], measured, spread),
        worst_score(mine, error="check_error"),
    )


def setting(rows: list[Row]) -> list[str]:
    """Return what was run."""
    sizes = sorted({row["N"] for row in rows})
    return [
        f"Ours: {COLUMNS} synthetic covariates, as Covertype cannot be had here; N ="
        f" {', '.join(f'{n:,}' for n in sizes)}, step size 1 / N, {CHAINS} chains of 200 steps"
        f" from the mode, {MINIBATCHES} minibatches of {logistic.BATCH} at the end of each. The"
        " paper: N = 10³, 10⁴, 10⁵ rows of Covertype; its minibatch size is not given. The"
        " exact variance is that over all rows at the chains' own positions.",
    ]


def remarks(rows: list[Row]) -> list[str]:
    """Return what else the numbers show."""
    found = []
    for method in METHODS:
        mine = select(rows, method=method)
        away = [row["linear"] / row["exact"] - 1 for row in mine]
        found.append(f"{min(away):+.1%} to {max(away):+.1%} ({method})")
    return [
        "Gradients taken as linear about the mode, the lines of the picture, give a variance that"
        f" differs from the exact one by {', '.join(found)}.",
    ]


def draw(rows: list[Row]) -> Any:
    """Draw the variances."""
    figure, (axis,) = panels(1)
    for number, method in enumerate(METHODS):
        mine = select(rows, method=method)
        size, error = column(mine, "N"), column(mine, "error")
        points(axis, size, column(mine, "measured"), error, number, method)
        line(axis, size, column(mine, "linear"), number)
    label(axis, "", "rows N", "variance of a gradient's coordinate")
    legend(figure, axis, 4, "gradients linear about the mode")
    return figure


if __name__ == "__main__":
    main(sys.modules[__name__])
