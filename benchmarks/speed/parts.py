"""Parts of a figure: one bar each, measured or, in words, not."""

import sys
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks.speed.ratios import Bar, number

MET, MISSED, FAILED, SKIPPED = "met", "missed", "failed", "not measured"


class Measured(NamedTuple):
    """A number with what it was made of.

    Attributes:
        value: to be held to the bar.
        shown: the two sides in words, for the table.
        details: numbers for the file.
        fails: why the bar is missed whatever the number, nothing where it is not.
    """

    value: float
    shown: str
    details: dict[str, Any]
    fails: str = ""


class Part(NamedTuple):
    """One bar of a figure.

    Attributes:
        what: is measured.
        bar: that it is held to.
        measure: takes the number of rounds.
        reason: why the bar may be missed, said where it is.
    """

    what: str
    bar: Bar
    measure: Callable[[int], Measured]
    reason: str = ""


class NotMeasured(Exception):
    """Raised where a part cannot be measured here; the message says why."""


def outcome(part: Part, rounds: int) -> dict[str, Any]:
    """Measure a part and return its fields; one that fails leaves the others alone."""
    told: dict[str, Any] = {"what": part.what, "bar": str(part.bar), "limit": part.bar.limit}
    try:
        measured = part.measure(rounds)
    except NotMeasured as said:
        return told | {"status": SKIPPED, "value": None, "shown": "", "note": str(said)}
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        note = f"{type(error).__name__}: {error}"
        return told | {"status": FAILED, "value": None, "shown": "", "note": note}
    met = part.bar.is_met(measured.value) and not measured.fails
    return told | {
        "status": MET if met else MISSED,
        "value": measured.value,
        "measured": f"{number(measured.value)} {part.bar.unit}",
        "shown": measured.shown,
        "note": "" if met else measured.fails or part.reason,
        "details": measured.details,
    }


def line(title: str, outcomes: list[dict[str, Any]]) -> str:
    """Return what is printed of a figure."""
    return f"{title}: " + "; ".join(_brief(outcome) for outcome in outcomes)


def _brief(outcome: dict[str, Any]) -> str:
    if outcome["value"] is None:
        return f"{outcome['what']}: {outcome['status']} ({outcome['note']})"
    return f"{outcome['what']}: {outcome['measured']} ({outcome['bar']}, {outcome['status']})"
