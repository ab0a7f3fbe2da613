"""papers/000, figure 1: bias of theta^2 against step size, Euler against splitting."""

import sys
from typing import Any

import numpy as np

from benchmarks.papers.common import (
    Finding,
    Row,
    Z,
    column,
    main,
    mean_and_error,
    select,
    slope,
    worst_score,
)
from benchmarks.papers.gaussian import BATCH, RECURSIONS, UNIT, runner, setting
from benchmarks.papers.picture import label, legend, line, panels, points

INTEGRATORS = {
    "explicit": "Euler, explicit",
    "hamiltonian": "Euler, semi-implicit",
    "splitting": "splitting",
}
ORDER = {"explicit": 1, "hamiltonian": 1, "splitting": 2}
FRICTION = 30.0
STEP_SIZES = (5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 3e-2)
CHAINS = 200


def exact_bias(integrator: str, h: float, batch: int | None) -> float:
    """Return the invariant law's bias of theta^2; nan where the chain is unstable."""
    recursion = RECURSIONS[integrator](h, UNIT, FRICTION)
    return setting().stationary_variance(recursion, h, batch) - setting().variance


def measure(quick: bool = False) -> list[Row]:
    """Return the bias for each integrator and step size, with minibatches and without."""
    integrators = ("splitting",) if quick else tuple(INTEGRATORS)
    sizes = (2e-3, 1e-2) if quick else STEP_SIZES
    rows = []
    for batch in (BATCH,) if quick else (BATCH, None):
        for integrator in integrators:
            stable = [h for h in sizes if np.isfinite(exact_bias(integrator, h, batch))]
            out = runner(integrator, FRICTION, batch)(
                stable,
                start=np.full((CHAINS, 1), setting().mean),
                burn_in=1_000 if quick else 2_000,
                blocks=1,
                length=2_000 if quick else (20_000 if batch else 100_000),
            )
            # E (theta - mean) = 0 exactly, so the bias of theta^2 is that of the variance.
            mean, error = mean_and_error(np.moveaxis(out.mean()[..., 1], 0, 1))
            for h, value, spread in zip(stable, mean, error, strict=True):
                rows.append(
                    {
                        "integrator": integrator,
                        "batch": batch or 0,
                        "step_size": h,
                        "measured": float(value - setting().variance),
                        "error": float(spread),
                        "exact": exact_bias(integrator, h, batch),
                    }
                )
    return rows


def findings(rows: list[Row]) -> list[Finding]:
    """Compare orders, levels and stability."""
    found = []
    for batch in sorted({row["batch"] for row in rows}, reverse=True):
        for integrator in INTEGRATORS:
            mine = select(rows, integrator=integrator, batch=batch)
            if mine:
                found.append(_order(mine, integrator, batch))
    euler = select(rows, integrator="hamiltonian", batch=BATCH, step_size=2e-3)
    split = select(rows, integrator="splitting", batch=BATCH, step_size=2e-3)
    if euler and split:
        ratio = [a / b for a, b in ((euler[0][k], split[0][k]) for k in ("measured", "exact"))]
        claim = "splitting has clearly less bias than Euler with B = 10, h = 0.002"
        text = f"semi-implicit Euler's is {ratio[0]:.2f} times splitting's"
        found.append(Finding(claim, text, f"{ratio[1]:.2f} times", False, True))
        edges = [_edge(name) for name in INTEGRATORS]
        claim = "Euler explodes where splitting does not"
        text = f"splitting runs at h = {max(STEP_SIZES):g}, explicit Euler is not run above 0.02"
        exact = (
            "stable up to h = {:.3f} (explicit), {:.3f} (semi-implicit), {:.0f} or more (splitting)"
        )
        found.append(Finding(claim, text, exact.format(*edges), True, True))
    return found


def _order(mine: list[Row], integrator: str, batch: int) -> Finding:
    # Only steps so small that the exact law has its limiting slope there, if that leaves two.
    small = [exact_bias(integrator, h, batch or None) for h in (1e-5, 1e-4)]
    limit = np.log10(small[1] / small[0])
    seen = [r for r in mine if abs(r["measured"]) > 5 * r["error"]]
    settled = [r for r in seen if abs(_local_slope(integrator, r) - limit) < 0.15]
    seen = settled if len(settled) > 1 else seen
    order = ORDER[integrator]
    with_what = f"B = {batch}" if batch else "exact gradients"
    claim = f"bias of {INTEGRATORS[integrator]} is of order {order} in h, {with_what}"
    score = worst_score(mine)
    text, there, sound = "too small to be seen", "", score < Z
    if len(seen) > 1:
        size, error = column(seen, "step_size"), column(seen, "error")
        measured, spread = slope(size, column(seen, "measured"), error)
        exact, _ = slope(size, column(seen, "exact"), error)
        text = f"slope {measured:.2f} ± {spread:.2f} for h = {size.min():g} to {size.max():g}"
        there, sound = f"{exact:.2f} there, ", sound and abs(measured - exact) < Z * spread
    text += f" (all points within {score:.1f} errors)"
    holds = abs(limit - order) < 0.15
    return Finding(claim, text, f"{there}{limit:.2f} as h -> 0", bool(holds), bool(sound))


def _local_slope(integrator: str, row: Row) -> float:
    pair = [exact_bias(integrator, row["step_size"] * f, row["batch"] or None) for f in (0.98, 1)]
    return float(np.log(pair[1] / pair[0]) / -np.log(0.98))


def _edge(integrator: str) -> float:
    grid = np.geomspace(1e-3, 1.0, 3_000)
    return float(max(h for h in grid if np.isfinite(exact_bias(integrator, h, None))))


def draw(rows: list[Row]) -> Any:
    """Draw the bias with minibatches and with exact gradients."""
    figure, axes = panels(2)
    for axis, batch in zip(axes, (BATCH, 0), strict=True):
        for number, (integrator, name) in enumerate(INTEGRATORS.items()):
            mine = select(rows, integrator=integrator, batch=batch)
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
