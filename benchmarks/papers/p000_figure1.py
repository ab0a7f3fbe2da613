"""Chen, Ding and Carin (2015), figure 1: bias against step size, Euler against splitting."""

import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from benchmarks.papers.command import main
from benchmarks.papers.common import Row, column, mean_and_error, select, worst_score
from benchmarks.papers.criteria import above, decided, ratio
from benchmarks.papers.finding import Finding
from benchmarks.papers.gaussian import BATCH, RECURSIONS, UNIT, runner
from benchmarks.papers.gaussian import setting as setting_of_model
from benchmarks.papers.orders import order_finding
from benchmarks.papers.picture import label, legend, line, panels, points

TITLE = "Bias against step size"
MEASURED = ("measured",)
INTEGRATORS = {
    "explicit": "explicit Euler",
    "hamiltonian": "semi-implicit Euler",
    "splitting": "splitting",
}
ORDER = {"explicit": 1, "hamiltonian": 1, "splitting": 2}
FRICTION = 30.0
STEP_SIZES = (5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 3e-2)
LARGE = (5e-2, 1e-1)
"""Where Euler's chains are unstable, with exact gradients; splitting's are so at the second."""
CHAINS = 200


def exact_bias(integrator: str, h: float, batch: int | None) -> float:
    """Return the invariant law's bias of theta^2; nan where the chain is unstable."""
    recursion = RECURSIONS[integrator](h, UNIT, FRICTION)
    return setting_of_model().stationary_variance(recursion, h, batch) - setting_of_model().variance


def measure(quick: bool = False) -> list[Row]:
    """Return the bias for each integrator and step size, with minibatches and without."""
    integrators = ("hamiltonian", "splitting") if quick else tuple(INTEGRATORS)
    sizes = (2e-3, 1e-2) if quick else STEP_SIZES
    rows = []
    for batch in (BATCH,) if quick else (BATCH, None):
        for integrator in integrators:
            stable = [h for h in sizes if np.isfinite(exact_bias(integrator, h, batch))]
            length = 2_000 if quick else (20_000 if batch else 100_000)
            rows += _measure(integrator, batch, stable, 1_000 if quick else 2_000, length)
    return rows if quick else rows + measure_large()


def measure_large() -> list[Row]:
    """Return the bias at the large step sizes, with exact gradients; not finite after overflow."""
    return [row for name in INTEGRATORS for row in _measure(name, None, LARGE, 2_000, 20_000)]


def _measure(
    integrator: str, batch: int | None, sizes: Sequence[float], burn_in: int, length: int
) -> list[Row]:
    start = np.full((CHAINS, 1), setting_of_model().mean)
    sampler = runner(integrator, FRICTION, batch)
    out = sampler(sizes, start=start, burn_in=burn_in, blocks=1, length=length)
    # E (theta - mean) = 0 exactly, so the bias of theta^2 is that of the variance.
    with np.errstate(invalid="ignore"):
        mean, error = mean_and_error(np.moveaxis(out.mean()[..., 1], 0, 1))
    return [
        {
            "integrator": integrator,
            "batch": batch or 0,
            "step_size": h,
            "measured": float(value - setting_of_model().variance),
            "error": float(spread),
            "exact": exact_bias(integrator, h, batch),
        }
        for h, value, spread in zip(sizes, mean, error, strict=True)
    ]


def findings(rows: list[Row]) -> list[Finding]:
    """Compare orders, levels and stability."""
    found = []
    for batch in sorted({row["batch"] for row in rows}, reverse=True):
        for integrator in INTEGRATORS:
            mine = select(rows, integrator=integrator, batch=batch)
            mine = [row for row in mine if np.isfinite(row["exact"])]
            if mine:
                found.append(_order(mine, integrator, batch))
    for integrator in ("explicit", "hamiltonian"):
        pair = [
            select(rows, integrator=name, batch=BATCH, step_size=2e-3)
            for name in (integrator, "splitting")
        ]
        if all(pair):
            found.append(_comparison(pair[0][0], pair[1][0]))
    large = [row for row in rows if row["step_size"] in LARGE]
    return found + ([_explosion(large, h) for h in LARGE] if large else [])


def _order(mine: list[Row], integrator: str, batch: int) -> Finding:
    small = [exact_bias(integrator, h, batch or None) for h in (1e-5, 1e-4)]
    limit = float(np.log10(small[1] / small[0]))
    with_what = f"B = {batch}" if batch else "exact gradients"
    claim = f"bias of {INTEGRATORS[integrator]} is of order {ORDER[integrator]} in h, {with_what}"
    return order_finding(
        claim, ORDER[integrator], mine, limit, lambda row: _local_slope(integrator, row)
    )


def _local_slope(integrator: str, row: Row) -> float:
    pair = [exact_bias(integrator, row["step_size"] * f, row["batch"] or None) for f in (0.98, 1)]
    return float(np.log(pair[1] / pair[0]) / -np.log(0.98))


def _comparison(euler: Row, split: Row) -> Finding:
    values = [euler["measured"], euler["error"], split["measured"], split["error"]]
    measured, error = ratio(*values)
    exact = euler["exact"] / split["exact"]
    name = INTEGRATORS[euler["integrator"]]
    return Finding(
        f"{name} has a larger bias than splitting, by 5 % or more, B = {BATCH}, h = 0.002",
        f"{measured:.3f} ± {error:.3f} times",
        f"{exact:.3f} times",
        above(measured, error, 1.05),
        max(worst_score([euler, split]), abs(measured - exact) / error),
    )


def _explosion(large: list[Row], h: float) -> Finding:
    """Judge the claim at one step size; the score is that of all chains that are stable."""
    here = {row["integrator"]: _explodes(row) for row in select(large, step_size=h)}
    text = ", ".join(f"{INTEGRATORS[k]}: {'yes' if v else 'no'}" for k, v in here.items())
    stable = worst_score([row for row in large if np.isfinite(row["exact"])])
    as_exact = all(_explodes(row) == np.isnan(row["exact"]) for row in large)
    euler = here["explicit"] and here["hamiltonian"]
    return Finding(
        f"Euler explodes at h = {h:g} and splitting does not, exact gradients",
        f"explodes? {text}",
        f"unstable for {'; '.join(f'{unstable(k)} ({v})' for k, v in INTEGRATORS.items())}",
        decided(euler and not here["splitting"], not euler or here["splitting"]),
        stable if as_exact else float("inf"),
    )


def _explodes(row: Row) -> bool:
    return not abs(row["measured"]) < 1e6 * setting_of_model().variance


@cache
def unstable(integrator: str) -> str:
    """Return where on a grid of step sizes up to 1 the exact recursion is unstable."""
    grid = np.geomspace(1e-3, 1.0, 3_000)
    build, hessian = RECURSIONS[integrator], setting_of_model().hessian
    moves = np.array([build(h, UNIT, FRICTION).transition(hessian) for h in grid])
    is_stable = np.abs(np.linalg.eigvals(moves)).max(1) < 1
    edges = [f"{grid[i + 1]:.3f}" for i in np.flatnonzero(np.diff(is_stable))]
    # Stable at the grid's start, so edges alternate: from, to, from, to.
    edges = edges if len(edges) % 2 == 0 else [*edges, "1"]
    spans = zip(edges[::2], edges[1::2], strict=True)
    return " and ".join(f"h = {low} to {high}" for low, high in spans)


def setting(rows: list[Row]) -> list[str]:
    """Return what was run."""
    return [
        f"Ours: D = {FRICTION:.0f}, {CHAINS} chains from the posterior mean, 20,000 steps with"
        " minibatches and 100,000 with exact gradients, after 2,000 discarded. The paper: 10⁶"
        " steps, 200 runs from random starts; it does not state its friction for this figure.",
    ]


def remarks(rows: list[Row]) -> list[str]:
    """Return what else the numbers show."""
    post, h = setting_of_model(), 1e-3
    factor = {
        name: post.stationary_variance(RECURSIONS[name](h, UNIT, 10.0), h, BATCH) / post.variance
        for name in ("hamiltonian", "splitting")
    }
    return [
        "At D = 10 and h = 0.001 the exact variance is"
        f" {factor['hamiltonian']:.1f} times (semi-implicit) and {factor['splitting']:.1f} times"
        " (splitting) the posterior's.",
    ]


def draw(rows: list[Row]) -> Any:
    """Draw the bias with minibatches and with exact gradients."""
    figure, axes = panels(2)
    for axis, batch in zip(axes, (BATCH, 0), strict=True):
        for number, (integrator, name) in enumerate(INTEGRATORS.items()):
            mine = select(rows, integrator=integrator, batch=batch)
            mine = [row for row in mine if row["step_size"] in STEP_SIZES]
            size = column(mine, "step_size")
            points(
                axis, size, np.abs(column(mine, "measured")), column(mine, "error"), number, name
            )
            fine = np.geomspace(min(STEP_SIZES), max(STEP_SIZES), 200)
            exact = [abs(exact_bias(integrator, h, batch or None)) for h in fine]
            line(axis, fine, np.array(exact), number)
        title = f"minibatches of {batch}" if batch else "exact gradients"
        label(axis, f"{title}, D = {FRICTION:.0f}", "step size h", r"|bias of $\theta^2$|")
    legend(figure, axes[0], 4, "exact")
    return figure


if __name__ == "__main__":
    main(sys.modules[__name__])
