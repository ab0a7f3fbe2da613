"""The search for the setting of a dynamics that is worth most, from a coarse grid on."""

from collections.abc import Callable, Sequence
from itertools import product
from math import sqrt
from typing import NamedTuple

from benchmarks.microcanonical.page import Run

FACTOR = sqrt(2.0)
"""Between neighbouring values of h, and of D."""


class Setting(NamedTuple):
    """A step size h and a friction D."""

    h: float
    friction: float

    def neighbours(self) -> list["Setting"]:
        """Return the eight settings around, of which some have one of the values in common."""
        powers = [power for power in product((1, 0, -1), repeat=2) if power != (0, 0)]
        return [Setting(self.h * FACTOR**i, self.friction * FACTOR**j) for i, j in powers]


def climbed(settings: Sequence[Setting], run: Callable[[Setting], Run]) -> list[Run]:
    """Return the runs of these settings, and of all that lead to one without a better neighbour.

    Only runs that are right count; without any there is no climb. A neighbour that was run before
    is not run again.
    """
    runs = {_place(setting): run(setting) for setting in settings}
    while True:
        best = max(runs.values(), key=_worth)
        if _worth(best) == 0.0:
            break
        around = Setting(best.h, best.friction).neighbours()
        # Of those with a larger step size some is better most often, and the rest can wait.
        for setting in around:
            if _place(setting) not in runs:
                runs[_place(setting)] = run(setting)
                if _worth(runs[_place(setting)]) > _worth(best):
                    break
        else:
            break
    return list(runs.values())


def _worth(run: Run) -> float:
    return run.median_ess if run.right == "yes" else 0.0


def _place(setting: Setting) -> tuple[str, str]:
    """Return a name of the setting that rounding does not change."""
    return f"{setting.h:.4g}", f"{setting.friction:.4g}"
