"""The search for the best right setting of a dynamics, which starts at a few settings."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

from benchmarks.microcanonical.page import Run


class Setting(NamedTuple):
    """A step size h and a friction D."""

    h: float
    friction: float

    def neighbours(self, step: float) -> list["Setting"]:
        """Return the eight settings in which h, D or both differ by the factor `step`."""
        powers = [power for power in product((1, 0, -1), repeat=2) if power != (0, 0)]
        return [Setting(self.h * step**i, self.friction * step**j) for i, j in powers]


def climbed(settings: Sequence[Setting], step: float, run: Callable[[Setting], Run]) -> list[Run]:
    """Return all runs of a search that ends at a setting without a better neighbour.

    The search starts at the best of the given settings. Only runs that are right count. If none of
    the given settings is right, the search ends with them. No setting is run twice.
    """
    runs = {_place(setting): run(setting) for setting in settings}
    while True:
        best = max(runs.values(), key=_worth)
        if _worth(best) == 0.0:
            break
        around = Setting(best.h, best.friction).neighbours(step)
        # Larger step sizes come first, because they are better most often.
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
    """Return an identifier of the setting that does not depend on rounding errors."""
    return f"{setting.h:.4g}", f"{setting.friction:.4g}"
