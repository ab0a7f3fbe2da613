"""What a setting of a dynamics is worth on a model, with one key or several."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.calibration import references
from benchmarks.calibration.problems import PROBLEMS
from benchmarks.calibration.run import LOG_SCORE_BOUND
from benchmarks.microcanonical.climb import Setting
from benchmarks.microcanonical.page import Run, line
from benchmarks.microcanonical.runs import Worth, worth
from benchmarks.microcanonical.settings import found
from numpyro_sgmcmc import Microcanonical, Splitting

DYNAMICS: dict[str, Any] = {"splitting": Splitting, "microcanonical": Microcanonical}


class Length(NamedTuple):
    """How long a setting runs.

    Attributes:
        draws: number of draws of a chain.
        num_steps: transitions for each draw.
        seeds: of the keys.
    """

    draws: int
    num_steps: int
    seeds: tuple[int, ...]


class Judge:
    """A model, where its chains start, and the log score that is right.

    Attributes:
        name: of a model of the calibration.
        start: what the warm-up found.
    """

    def __init__(self, name: str) -> None:
        self.name, self._problem = name, PROBLEMS[name]
        self.start = found(self._problem)
        self._score: float = references.load(name)["log_score"]["value"]

    def of(self, dynamics: str, scale: str, length: Length) -> Callable[[Setting], Run]:
        """Return a function from a setting to its run, which it prints."""

        def run(setting: Setting) -> Run:
            part = DYNAMICS[dynamics](setting.friction)
            each = [
                worth(
                    self._problem,
                    self.start,
                    part,
                    scale,
                    setting.h,
                    length.draws,
                    length.num_steps,
                    seed,
                )
                for seed in length.seeds
            ]
            row = self._row(dynamics, scale, setting, each)
            print(line(row), flush=True)
            return row

        return run

    def _row(self, dynamics: str, scale: str, setting: Setting, each: list[Worth]) -> Run:
        """Return the mean over keys. A setting with transitions that were refused is wrong."""
        keys = len(each)
        mean = Worth(*map(float, np.mean(each, axis=0)))
        away = mean.log_score - self._score
        right = not mean.diverged and abs(away) <= LOG_SCORE_BOUND
        medians = [one.median_ess for one in each]
        return Run(
            model=self.name,
            dynamics=dynamics,
            scale=scale,
            h=setting.h,
            friction=setting.friction,
            away=away,
            away_error=mean.log_score_error / np.sqrt(keys),
            median_ess=mean.median_ess,
            smallest_ess=mean.smallest_ess,
            largest_rhat=max(one.largest_rhat for one in each),
            right="yes" if right else "no",
            keys=keys,
            error=float(np.std(medians, ddof=1) / np.sqrt(keys)) if keys > 1 else float("nan"),
        )
