"""Chen et al. (2016), figures 3 and 4 with two workers of Ray, beside their deterministic twin.

It needs the extra `distributed` and Fashion-MNIST, and is therefore not among the figures that
`python -m benchmarks.papers` runs:

    python -m benchmarks.papers.p001_ray [--folder F]
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.papers import p001_lenet as lenet
from benchmarks.papers.command import main_with_clothes
from benchmarks.papers.common import Row, column, select, worst_score
from benchmarks.papers.criteria import below
from benchmarks.papers.finding import Finding
from benchmarks.papers.p001_lenet_runs import BATCH, MOMENTUM
from benchmarks.papers.p001_quick_net import BATCH as QUICK_BATCH
from benchmarks.papers.p001_ray_nets import (
    RATES,
    SEEN,
    TESTED,
    TRAIN,
    Network,
    clothes,
    curvature,
    network,
)
from benchmarks.papers.p001_ray_runs import alone, by_ray, by_twin
from benchmarks.papers.p001_ray_table import ALONE, CHAINS, STALE, SYNCHRONOUS, Way, table
from benchmarks.papers.picture import COLOURS, label, legend, panels, points, ticks
from examples.idx import FASHION_MNIST

TITLE = "Two workers of Ray"
MEASURED = ("measured",)
NUDGE = 1e-7
"""Relative change of first weights, about a rounding error, whose growth is shown."""
SAME = 0.01
"""Distance from the twin that counts as the same, of the distance from the start."""
FRICTION, CURVATURE = f"{STALE}, friction", f"{STALE}, curvature"


def measure(quick: bool = False, folder: Path = FASHION_MNIST) -> list[Row]:
    """Return losses along the runs, differences at their ends, and distances from the twin."""
    if quick:
        digits = lenet.digits()
        nets = [network("LeNet", digits.training, digits.test, iterations=6, every=3)]
    else:
        nets = clothes(folder)
    return [row for net in nets for row in table(net, ways(net))]


def ways(net: Network) -> list[Way]:
    """Return the courses of all ways to use two workers, and of one worker."""
    one = alone(net)
    known = {"curvature": curvature(net, one[0, -1])}
    found = [Way(ALONE, one), Way(SYNCHRONOUS, alone(net, 2))]
    for name, servers, remedy in (
        (STALE, 1, {}),
        (FRICTION, 1, {"remedy": "friction", **known}),
        (CURVATURE, 1, {"remedy": "curvature", **known}),
        (CHAINS, 2, {}),
    ):
        course, twin, nudged = by_ray(net, servers, **remedy), None, None
        if name != FRICTION:  # which is that of each age on Ray, and of the mean age in the twin
            twin = by_twin(net, course.ages, **remedy)
        if name == STALE:
            nudged = by_twin(net, course.ages, NUDGE)
        found.append(Way(name, course.weights, course.ages, twin, nudged))
        print(f"  {net.name}, {name}", flush=True)
    return found


def findings(rows: list[Row]) -> list[Finding]:
    """Compare losses of the same test images, and Ray's weights with the twin's."""
    found = []
    for net in _networks(rows):
        last = select(rows, kind="loss", network=net, way=ALONE)[-1]["iterations"]
        at = f"{net}, {last} iterations of each worker"
        for claim, way, other in (
            ("faster with workers: 2 have a smaller loss than 1", STALE, ALONE),
            (
                "more servers decrease the loss faster: averaged chances of 2, with a worker each,"
                " have a smaller one than 1",
                CHAINS,
                ALONE,
            ),
            (
                "ours: 2 asynchronous workers have a smaller loss than 2 synchronous ones",
                STALE,
                SYNCHRONOUS,
            ),
            ("ours: 2 workers of one server have a smaller loss than 2 servers", STALE, CHAINS),
            ("ours: friction makes the loss of 2 workers smaller", FRICTION, STALE),
            ("ours: curvature makes the loss of 2 workers smaller", CURVATURE, STALE),
        ):
            found.append(_compared(rows, f"{claim}, {at}", net, way, other))
        found += [_same(rows, net, way) for way in (STALE, CURVATURE, CHAINS)]
    return found


def _networks(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(column(rows, "network").tolist()))


def _compared(rows: list[Row], claim: str, net: str, way: str, other: str) -> Finding:
    both = [select(rows, kind="end", network=net, way=name)[0] for name in (way, other)]
    gain = select(rows, kind="difference", network=net, way=way, other=other)[0]
    known = [row for row in both if np.isfinite(row["exact"])]
    mine, theirs = (row["measured"] for row in both)
    return Finding(
        claim,
        f"{mine:.3f} against {theirs:.3f}, {gain['measured']:+.3f} ± {gain['error']:.3f}",
        ", ".join(f"twin of {row['way']} {row['exact']:.3f}" for row in known),
        below(gain["measured"], gain["error"], 0.0),
        worst_score(known) if known else None,
    )


def _same(rows: list[Row], net: str, way: str) -> Finding:
    """Judge whether Ray's weights are those of the twin, at the first draw and at the last."""
    mine = column(select(rows, kind="distance", network=net, way=way), "measured")
    return Finding(
        f"ours: the twin with Ray's ages has the same weights, {way}, {net}: within {SAME:.0%} of"
        " their distance from the start",
        f"{mine[0]:.1e} at the first draw, {mine[-1]:.1e} at the last",
        "",
        below(float(mine.max()), 0.0, SAME),
        None,
    )


def setting(rows: list[Row]) -> list[str]:
    """Return what was run."""
    return [
        f"Ours: two workers of Ray (`AsyncMCMC`) on two cores, {TRAIN:,} images of Fashion-MNIST to"
        f" train and {TESTED:,} to test. LeNet as above, B = {BATCH}, η = h² N ="
        f" {RATES['LeNet']:g}, and Caffe's quick net for CIFAR-10, with a border and three equal"
        f" colours, B = {QUICK_BATCH}, η = {RATES['quick net']:g}. `SGHMC`, momentum 1 - D h ="
        f" {MOMENTUM}, one run each from Caffe's random weights. All ways have as many iterations"
        f" of each worker. *{SYNCHRONOUS}* takes the mean of two gradients, that is one of a"
        f" minibatch twice as large, and needs no Ray. *{CHAINS}* are servers with a worker each;"
        " their chances are averaged, as in figure 4.",
        "",
        "The ages of Ray's gradients are recorded. With them as delays, `StaleGradient` in `MCMC`"
        " is the twin: the same transitions in one process, with other rounding. Its losses stand"
        " as *exact* ones. A remedy by friction has none, because Ray's servers compensate each"
        " age and `StaleGradient` their mean. Losses are means of the last draws"
        " (`benchmarks/papers/p001_ray_table.py`); errors are those of the test images, the same"
        " for all ways, and do not contain how runs differ. The curvature is the diagonal of the"
        f" Fisher information at {SEEN} images, at the end of the run of one worker.",
    ]


def remarks(rows: list[Row]) -> list[str]:
    """Return what else the numbers show."""
    found = []
    for net in _networks(rows):
        ends = ", ".join(
            f"{row['measured']:.3f} ({row['way']})" for row in select(rows, kind="end", network=net)
        )
        both = (select(rows, kind=kind, network=net) for kind in ("mean age", "largest age"))
        ages = ", ".join(
            f"{mean['measured']:.2f}, at most {most['measured']:.0f} ({mean['way']})"
            for mean, most in zip(*both, strict=True)
        )
        nudged = column(select(rows, kind="nudged", network=net), "measured")
        found += [
            f"{net}, losses at the end: {ends}.",
            f"{net}, mean ages: {ages}.",
            f"{net}: first weights that differ by {NUDGE:g} of themselves are {nudged[0]:.1e} apart"
            f" at the first draw and {nudged[-1]:.1e} at the last, on the scale of the twin's.",
        ]
    return [
        *found,
        "Gradients are taken in the order of their requests. Where one worker is slower, those of"
        " the other wait for its turn, and their ages are above 1.",
        "The clock decides ages, so that they differ between runs, and a comparison of two runs is"
        " one of their ages, too. The quick net's loss still falls at the end, so"
        " that its comparisons are of transients, not of stationary distributions.",
    ]


def draw(rows: list[Row]) -> Any:
    """Draw losses over the iterations of each worker, and distances from the twin."""
    nets = _networks(rows)
    figure, axes = panels(2 * len(nets), height=6.2, rows=2)
    names = [ALONE, SYNCHRONOUS, STALE, FRICTION, CURVATURE, CHAINS]
    for axis, net in zip(axes, nets, strict=False):
        for number, way in enumerate(names):
            mine = select(rows, kind="loss", network=net, way=way)
            x, value = column(mine, "iterations"), column(mine, "measured")
            points(axis, x, value, column(mine, "error"), number, way)
            axis.plot(x, column(mine, "exact"), color=COLOURS[number], lw=1, zorder=1)
        ticks(axis.yaxis, (0.4, 0.6, 0.8, 1, 1.5, 2))
        label(axis, net, "iterations of each worker", "test loss")
    for axis, net in zip(axes[len(nets) :], nets, strict=False):
        for way in (STALE, CURVATURE, CHAINS):
            mine = select(rows, kind="distance", network=net, way=way)
            x, value = column(mine, "iterations"), column(mine, "measured")
            points(axis, x, value, None, names.index(way), "")
        mine = select(rows, kind="nudged", network=net)
        x, value = column(mine, "iterations"), column(mine, "measured")
        axis.plot(x, value, color="0.3", lw=1.3)
        label(axis, f"{net}: Ray from the twin", "iterations of each worker", "distance / way")
    for axis, net in zip(axes, [*nets, *nets], strict=True):
        x = column(select(rows, kind="loss", network=net, way=ALONE), "iterations")
        ticks(axis.xaxis, (x[0], 2 * x[0], x[-1] // 2, x[-1]))
    legend(figure, axes[0], 3, f"twin (below: its start changed by {NUDGE:g})")
    return figure


if __name__ == "__main__":
    main_with_clothes(sys.modules[__name__])
