"""How a run ended, for runs that `sg.run` drove."""

from dataclasses import dataclass
from typing import Any, Literal, final

PLACE = "_sgmcmc_outcome"


@final
@dataclass(frozen=True, eq=False)
class Outcome:
    """How a run ended.

    Attributes:
        stopped: "complete"; "interrupted" by the user; or "precise", because `until` was met.
        sentence: the same in words.
        draws: number of draws of each chain.
        wall_time: seconds that the run took, in all processes together.
        warmup: what was kept of the warm-up by field, (chain, draw, ...); None if nothing was.
        notes: what else must be known of the run, such as versions that changed in its course.
        states: the draws that this outcome belongs to.
    """

    stopped: Literal["complete", "interrupted", "precise"]
    sentence: str
    draws: int
    wall_time: float
    warmup: Any
    notes: tuple[str, ...]
    states: Any

    @property
    def attributes(self) -> dict[str, Any]:
        """What results say about the end of the run."""
        notes = {"notes": " ".join(self.notes)} if self.notes else {}
        return {"stopped": self.stopped, "stopped_because": self.sentence} | notes


def remember(mcmc: Any, outcome: Outcome) -> None:
    """Attach the outcome of the latest run to its `MCMC`, so that both are pickled together."""
    setattr(mcmc, PLACE, outcome)


def outcome_of(mcmc: Any) -> Outcome | None:
    """Return the outcome of the latest run; None if `sg.run` did not drive it."""
    found = getattr(mcmc, PLACE, None)
    return found if found is not None and found.states is mcmc._states else None
