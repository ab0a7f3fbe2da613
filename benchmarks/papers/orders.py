"""The order in h of a bias, read off measurements."""

from collections.abc import Callable, Sequence

from benchmarks.papers.common import Row, column, slope, worst_score
from benchmarks.papers.criteria import order
from benchmarks.papers.finding import Finding, Verdict

VISIBLE = 5.0
"""A bias counts as seen from so many standard errors on."""


def order_finding(
    claim: str,
    claimed: int,
    rows: Sequence[Row],
    limit: float,
    local_slope: Callable[[Row], float],
) -> Finding:
    """Judge an order by the slope over the steps where the bias is seen and h is small enough.

    Small enough is where the exact local slope is within one half of its limit as h -> 0: beyond,
    higher powers of h set the slope, and it says nothing of the order. With fewer than two such
    step sizes the run does not resolve the order.

    Args:
        claim: the paper's.
        claimed: its order.
        rows: measurements, all of which enter the score; there may be none.
        limit: the exact slope as h -> 0.
        local_slope: the exact slope at a row's step size.
    """
    score = worst_score(rows) if rows else None
    seen = [row for row in rows if abs(row["measured"]) > VISIBLE * row["error"]]
    near = [row for row in seen if abs(local_slope(row) - limit) < 0.5]
    exact = f"{limit:.2f} as h → 0"
    if len(near) < 2:
        text = "fewer than two step sizes where it is visible and h small enough"
        return Finding(claim, text, exact, Verdict.OPEN, score)
    size, error = column(near, "step_size"), column(near, "error")
    measured, spread = slope(size, column(near, "measured"), error)
    there, _ = slope(size, column(near, "exact"), error)
    return Finding(
        claim,
        f"slope {measured:.3f} ± {spread:.3f}, h = {size.min():g} to {size.max():g}",
        f"{there:.2f} there, {exact}",
        order(claimed, measured, spread),
        max(score or 0.0, abs(measured - there) / spread),
    )
