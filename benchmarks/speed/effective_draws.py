"""Figure 5: `SGHMCSplit(model)` untuned against the better of NUTS and HMCECS.

Two comparisons: effective draws (the smallest bulk ESS) per second after warm-up, and the time from
a cold start to an ESS of 400, which includes compilation, the search for the mode and warm-up. The
peer is the one of the two with the better median in that comparison. A run in which our moments are
not the reference's within the bounds fails the bars. NUTS takes minutes and runs in the first round
only.
"""

import statistics
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from benchmarks.speed.child import answer
from benchmarks.speed.effective_sides import SIDES
from benchmarks.speed.parts import Measured, NotMeasured, Part
from benchmarks.speed.ratios import Bar, number, orders
from benchmarks.speed.report import environment, run

ROUNDS = 3
LIMIT = 700.0
"""Seconds after which a run has failed."""

MEAN_BOUND, SD_BOUND = 0.1, 0.05
LARGEST_RHAT = 1.05
PEERS = ("nuts", "hmcecs")
ONCE = ("nuts",)

Runs = dict[str, list[dict[str, Any]]]


def schedule(rounds: int) -> list[tuple[str, int]]:
    """Return sides and seeds in the order in which they run."""
    turns = enumerate(orders(list(SIDES), rounds))
    return [(side, seed) for seed, order in turns for side in order if not (side in ONCE and seed)]


@cache
def runs(rounds: int) -> Runs:
    """Return every run's times, ESS and errors, by side."""
    found: Runs = {side: [] for side in SIDES}
    for side, seed in schedule(rounds):
        words = "effective_run", side, str(seed)
        found[side].append(answer(*words, environment=environment(), limit=LIMIT))
    return found


def middle(found: Runs, side: str, field: str) -> float:
    """Return the median of a side's field."""
    return statistics.median(one[field] for one in found[side])


def worst(found: Runs, side: str, field: str) -> float:
    """Return the largest of a side's field, NaN where one is."""
    return float(np.max([one[field] for one in found[side]]))


def strongest(found: Runs, field: str, best: Callable[..., str]) -> str:
    """Return the peer whose median is best among those whose chains agree."""
    sound = [side for side in PEERS if worst(found, side, "rhat") <= LARGEST_RHAT]
    if not sound:  # R-hat is no number where nothing moves
        raise NotMeasured(f"neither peer mixes: their R-hats are above {LARGEST_RHAT}")
    return best(sound, key=lambda side: middle(found, side, field))


def wrong(found: Runs) -> str:
    """Return in words how our moments are beyond their bounds, or nothing."""
    mean, sd = (worst(found, "ours", field) for field in ("mean_error", "sd_error"))
    if mean <= MEAN_BOUND and sd <= SD_BOUND:
        return ""
    return f"means are {mean:.2f} sd off (bound {MEAN_BOUND}), sds {sd:.1%} (bound {SD_BOUND:.0%})"


def listed(found: Runs, field: str, unit: str) -> str:
    """Return each side's median in words."""
    shown = [f"{SIDES[side].title} {number(middle(found, side, field))} {unit}" for side in SIDES]
    return ", ".join(shown)


def errors(found: Runs, side: str) -> str:
    """Return a side's ESS and largest errors in words."""
    mean, sd = (worst(found, side, field) for field in ("mean_error", "sd_error"))
    return (
        f"{SIDES[side].title} means within {mean:.2g} sd, sds within {sd:.1%}"
        f" at ESS {middle(found, side, 'ess'):,.0f}"
    )


def rates(rounds: int) -> Measured:
    """Return our effective draws per second after warm-up over the faster peer's."""
    found = runs(rounds)
    peer = strongest(found, "rate", max)
    ratio = middle(found, "ours", "rate") / middle(found, peer, "rate")
    shown = f"against {SIDES[peer].title}; {listed(found, 'rate', '/s')}; "
    shown += ", ".join(errors(found, side) for side in SIDES)
    return Measured(ratio, shown, {"peer": peer, "runs": found}, wrong(found))


def times(rounds: int) -> Measured:
    """Return the faster peer's time to an ESS of 400 from a cold start over ours."""
    found = runs(rounds)
    peer = strongest(found, "seconds_to_target", min)
    ratio = middle(found, peer, "seconds_to_target") / middle(found, "ours", "seconds_to_target")
    shown = f"against {SIDES[peer].title}; {listed(found, 'seconds_to_target', 's')}; of these "
    shown += f"{listed(found, 'until_warm', 's')} until the warm-up ends"
    return Measured(ratio, shown, {"peer": peer}, wrong(found))


PARTS = (
    Part(
        "effective draws per second after warm-up, `SGHMCSplit(model)` untuned over the faster of"
        " NUTS and HMCECS",
        Bar(20.0, at_least=True),
        rates,
    ),
    Part(
        "time to ESS 400 from a cold start, the faster of NUTS and HMCECS over ours",
        Bar(1.0, at_least=True),
        times,
        "how much of it each side spends until its warm-up ends is printed beside it",
    ),
)

if __name__ == "__main__":
    run("effective_draws", PARTS, rounds=ROUNDS)
