"""papers/004, figure 3: variance of the stochastic gradient against N, step size 1 / N.

Synthetic rows of 10 covariates stand in for Covertype.
"""

import sys
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.papers import logistic
from benchmarks.papers.common import (
    Finding,
    Row,
    Z,
    column,
    main,
    mean_and_error,
    select,
    slope,
)
from benchmarks.papers.p004_runs import make
from benchmarks.papers.picture import label, legend, line, panels, points
from benchmarks.papers.simulate import Runner
from numpyro_sgmcmc.kernels.stepping import stepper_of

METHODS = ("SGLD", "SGLDFP", "SGD")
THEORY = {"SGLD": 2.0, "SGLDFP": 1.0, "SGD": 2.0}
COLUMNS = 10
MINIBATCHES = 50


def measure(quick: bool = False) -> list[Row]:
    """Return the variance, averaged over stationary draws and coordinates, for each N."""
    sizes = (1_000, 3_162) if quick else (1_000, 3_162, 10_000, 31_623, 100_000)
    methods = ("SGLD",) if quick else METHODS
    return [_measure(n, method, 200 if quick else 400) for n in sizes for method in methods]


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
    variances = np.asarray(jax.jit(jax.vmap(partial(_variance, runner)))(out.state, keys))
    mean, error = mean_and_error(variances.astype(np.float64))
    noise = local.noise(method)
    law = local.covariance(1 / size, noise, 0.0 if method == "SGD" else 1.0)
    spread = np.einsum("nij,jk,nik->i", noise.linear, law, noise.linear) / size
    exact = np.diag(noise.at_mode) + noise.weight * spread
    return {
        "method": method,
        "N": size,
        "measured": float(mean),
        "error": float(error),
        "exact": float(exact.mean()),
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
    found = []
    for method in METHODS:
        mine = select(rows, method=method)
        if not mine:
            continue
        size, error = column(mine, "N"), column(mine, "error")
        measured, spread = slope(size, column(mine, "measured"), error)
        exact, _ = slope(size, column(mine, "exact"), error)
        found.append(
            Finding(
                f"variance of {method}'s gradient has slope {THEORY[method]:.0f} in N",
                f"{measured:.3f} ± {spread:.3f}",
                f"{exact:.3f}",
                abs(exact - THEORY[method]) < 0.15,
                abs(measured - exact) < Z * spread,
            )
        )
    return found


def draw(rows: list[Row]) -> Any:
    """Draw the variances."""
    figure, (axis,) = panels(1)
    for number, method in enumerate(METHODS):
        mine = select(rows, method=method)
        size, error = column(mine, "N"), column(mine, "error")
        points(axis, size, column(mine, "measured"), error, number, method)
        line(axis, size, column(mine, "exact"), number)
    label(axis, "", "rows N", "variance of a gradient's coordinate")
    legend(figure, axis, 4, "exact, gradients linear about the mode")
    return figure


if __name__ == "__main__":
    main(sys.modules[__name__])
