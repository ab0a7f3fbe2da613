"""Effective draws per second of `SGHMCSplit(model)` untuned, over NUTS's and HMCECS's.

Compilation and tuning are included. NUTS takes two to three minutes for 80 + 80 transitions, so
there is one round. A round in which our moments are not the reference's within the bounds fails
the bar.
"""

import statistics
from functools import cache, partial
from typing import Any

from benchmarks.speed.child import answer
from benchmarks.speed.parts import Measured, NotMeasured, Part
from benchmarks.speed.ratios import Bar, median_ratio, orders
from benchmarks.speed.report import environment, run

ROUNDS = 1
MEAN_BOUND, SD_BOUND = 0.1, 0.05
LARGEST_RHAT = 1.05

Runs = list[dict[str, Any]]


@cache
def runs(rounds: int) -> dict[str, Runs]:
    """Return every run's seconds, effective draws and errors, by side."""
    found: dict[str, Runs] = {"ours": [], "nuts": [], "hmcecs": []}
    for seed, order in enumerate(orders(list(found), rounds)):
        for side in order:
            found[side].append(answer("effective_run", side, str(seed), environment=environment()))
    return found


def wrong(ours: Runs) -> str:
    """Return in words how a run's moments are beyond their bounds, nothing where none's are."""
    mean = max(one["mean_error"] for one in ours)
    sd = max(one["sd_error"] for one in ours)
    if mean <= MEAN_BOUND and sd <= SD_BOUND:
        return ""
    return f"means are {mean:.2f} sd off (bound {MEAN_BOUND}), sds {sd:.1%} (bound {SD_BOUND:.0%})"


def described(name: str, side: Runs) -> str:
    """Return a side's medians in words."""
    middle = {key: statistics.median(one[key] for one in side) for key in side[0]}
    return "{name} {effective_draws:,.0f} in {seconds:.0f} s".format(name=name, **middle)


def gain(side: str, title: str, rounds: int) -> Measured:
    """Return our rate over a side's."""
    found = runs(rounds)
    rhat = statistics.median(one["rhat"] for one in found[side])
    if side == "hmcecs" and not rhat <= LARGEST_RHAT:  # it is no number where nothing moves
        off = statistics.median(one["mean_error"] for one in found[side])
        raise NotMeasured(f"HMCECS does not mix here: R-hat {rhat:.2f}, means {off:.1f} sd off")
    ours, theirs = ([one["rate"] for one in found[name]] for name in ("ours", side))
    errors = {key: max(one[key] for one in found["ours"]) for key in ("mean_error", "sd_error")}
    shown = f"{described('ours', found['ours'])}, {described(title, found[side])}"
    shown += (
        f"; our means within {errors['mean_error']:.3f} sd, sds within {errors['sd_error']:.1%}"
    )
    details = {"ours": found["ours"], side: found[side]}
    return Measured(median_ratio(ours, theirs), shown, details, wrong(found["ours"]))


PARTS = (
    Part(
        "effective draws per second of `SGHMCSplit(model)`, four chains, over NUTS's",
        Bar(200.0, at_least=True),
        partial(gain, "nuts", "NUTS"),
    ),
    Part(
        "the same over HMCECS's, which is given the posterior's mean",
        Bar(20.0, at_least=True),
        partial(gain, "hmcecs", "HMCECS"),
    ),
)

if __name__ == "__main__":
    run("effective_draws", PARTS, rounds=ROUNDS)
