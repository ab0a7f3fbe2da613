"""Chen et al. (2016), figure 4: test loss of a network with several servers of two workers each."""

import sys
from typing import Any

import numpy as np

from benchmarks.papers.command import main
from benchmarks.papers.common import Row, column, mean_and_error, select, worst_score
from benchmarks.papers.criteria import below, inside
from benchmarks.papers.finding import Finding
from benchmarks.papers.p001_runs import EVERY, RATE, by_hand, by_kernel, log_chances
from benchmarks.papers.picture import COLOURS, label, legend, panels, points, ticks

TITLE = "A network with several servers"
MEASURED = ("measured",)
SERVERS = (1, 3, 5, 7)
MOST = max(SERVERS)
WORKERS = 2
GROUPS, COUNT = 8, 900
EARLY = 300
KINDS = ("averaged chances", "mean loss")


def measure(quick: bool = False) -> list[Row]:
    """Return losses of one, three, five and seven servers along the runs."""
    groups, count = (6, EARLY) if quick else (GROUPS, COUNT)
    workers = np.full(groups * MOST, WORKERS)
    mine, hand = (_losses(run(workers, count, RATE), groups) for run in (by_kernel, by_hand))
    steps = EVERY * np.arange(1, count // EVERY + 1)
    return [
        _row(kind, servers, int(step), values[:, i], hand[kind, servers][:, i])
        for (kind, servers), values in mine.items()
        for i, step in enumerate(steps)
    ]


def _losses(positions: np.ndarray, groups: int) -> dict[tuple[str, int], np.ndarray]:
    """Return losses of the first servers of each group, (groups, K), and what more servers gain.

    A "gain" is the loss of these servers less that of the group's first one.
    """
    logs = log_chances(positions)
    logs = logs.reshape(groups, MOST, *logs.shape[1:])
    found = {}
    for servers in SERVERS:
        some = logs[:, :servers]
        found[KINDS[0], servers] = -np.log(np.exp(some).mean(1)).mean(-1)
        found[KINDS[1], servers] = -some.mean((1, 3))
    gains = {
        (f"gain, {kind}", servers): values - found[kind, 1]
        for (kind, servers), values in found.items()
        if servers > 1
    }
    return found | gains


def _row(kind: str, servers: int, step: int, mine: np.ndarray, hand: np.ndarray) -> Row:
    measured, error = mean_and_error(mine)
    exact, own = mean_and_error(hand)
    return {
        "what": kind,
        "servers": servers,
        "transitions": step,
        "iterations": step / WORKERS,
        "measured": float(measured),
        "error": float(error),
        "exact": float(exact),
        "check_error": float(np.hypot(error, own)),
    }


def findings(rows: list[Row]) -> list[Finding]:
    """Compare seven servers with one."""
    last = max(row["transitions"] for row in rows)
    found = [_smaller(rows, step) for step in sorted({EARLY, last})]
    return [*found, _mean(rows, last)]


def _pick(rows: list[Row], what: str, servers: int, step: int) -> Row:
    return select(rows, what=what, servers=servers, transitions=step)[0]


def _score(*rows: Row) -> float:
    return worst_score(rows, error="check_error")


def _smaller(rows: list[Row], step: int) -> Finding:
    gain, one, most = (
        _pick(rows, *which, step)
        for which in ((f"gain, {KINDS[0]}", MOST), (KINDS[0], 1), (KINDS[0], MOST))
    )
    return Finding(
        f"more servers decrease the loss faster: averaged chances of {MOST} servers have a smaller"
        f" one than 1, {gain['iterations']:.0f} iterations of each worker",
        f"{most['measured']:.3f} against {one['measured']:.3f},"
        f" {gain['measured']:.3f} ± {gain['error']:.3f}",
        f"by hand {gain['exact']:.3f}",
        below(gain["measured"], gain["error"], 0.0),
        _score(gain, one, most),
    )


def _mean(rows: list[Row], step: int) -> Finding:
    gain, one = (
        _pick(rows, *which, step) for which in ((f"gain, {KINDS[1]}", MOST), (KINDS[1], 1))
    )
    bound = 0.2 * one["measured"]
    return Finding(
        f"ours: the mean of {MOST} servers' losses, φ̂ of the paper, is that of one (theorem 6):"
        " within 20 %",
        f"{gain['measured']:.3f} ± {gain['error']:.3f} of {one['measured']:.3f}",
        f"by hand {gain['exact']:.3f}",
        inside(gain["measured"], gain["error"], -bound, bound),
        _score(gain, one),
    )


def setting(rows: list[Row]) -> list[str]:
    """Return what was run."""
    return [
        f"Ours: the digits and the network of figure 3, η = {RATE:g}, {WORKERS} workers for each"
        f" server, {COUNT} transitions, {GROUPS} groups of {MOST} servers, whose first 1, 3, 5 and"
        " 7 are compared. Servers are independent chains, so all take equally long. The paper does"
        " not say which loss its figure shows. With several servers there are two: the mean of"
        " their draws' losses, which is the paper's estimate, and the loss of the average of the"
        f" chances that their draws give. Servers written by hand stand for exact values, as in"
        f" figure 3, {GROUPS} groups of them, too.",
    ]


def remarks(rows: list[Row]) -> list[str]:
    """Return what else the numbers show."""
    last = max(row["transitions"] for row in rows)
    found = []
    for kind in KINDS:
        mine = select(rows, what=kind, transitions=last)
        losses = ", ".join(f"{row['measured']:.3f} (S = {row['servers']})" for row in mine)
        found.append(f"At the end, {kind}: {losses}.")
    return found


def draw(rows: list[Row]) -> Any:
    """Draw both losses over the iterations of each worker."""
    figure, axes = panels(2)
    for axis, kind in zip(axes, KINDS, strict=True):
        for number, servers in enumerate(SERVERS):
            mine = select(rows, what=kind, servers=servers)
            x, value = column(mine, "iterations"), column(mine, "measured")
            name = f"{servers} server{'s' if servers > 1 else ''}"
            points(axis, x, value, column(mine, "error"), number, name)
            axis.plot(x, value, color=COLOURS[number], lw=1, zorder=1)
        ticks(axis.xaxis, (25, 50, 100, 200, 450))
        ticks(axis.yaxis, (0.2, 0.3, 0.5, 1, 2))
        title = {KINDS[0]: "average of the servers' chances", KINDS[1]: "mean of their losses"}
        label(axis, title[kind], "iterations of each worker", "test loss")
    legend(figure, axes[0], 4)
    return figure


if __name__ == "__main__":
    main(sys.modules[__name__])
