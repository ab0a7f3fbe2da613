"""The iterations of a run: which are thrown away, and which give draws."""

from dataclasses import dataclass
from typing import Literal, NamedTuple, final

Phase = Literal["warmup", "sample"]


class Segment(NamedTuple):
    """Consecutive iterations of which the last ones give draws.

    Attributes:
        phase: what the draws belong to.
        begin: number of iterations before this segment.
        skipped: number of its first iterations, which give no draws.
        draws: number of draws of each chain.
    """

    phase: Phase
    begin: int
    skipped: int
    draws: int


class Step(NamedTuple):
    """What one call of the compiled program does.

    Attributes:
        phase: what the draws belong to.
        iterations: number of iterations.
        skipped: number of the first of them, which give no draws.
        place: number of draws of this phase before this step.
        draws: number of draws of each chain.
    """

    phase: Phase
    iterations: int
    skipped: int
    place: int
    draws: int


@final
@dataclass(frozen=True)
class Plan:
    """The iterations of each chain, in the order that NumPyro's `MCMC` takes them.

    If `num_samples` is not a multiple of `thinning`, `MCMC` throws away the remainder at the
    beginning, and so does this plan.

    Attributes:
        segments: the iterations, in order.
        thinning: number of iterations of a draw.
    """

    segments: tuple[Segment, ...]
    thinning: int

    @property
    def iterations(self) -> int:
        """Number of iterations of a chain."""
        last = self.segments[-1]
        return last.begin + last.skipped + last.draws * self.thinning

    @property
    def draws(self) -> int:
        """Number of draws of a chain, without those of the warm-up."""
        return self.segments[-1].draws

    @property
    def collects_warmup(self) -> bool:
        """Whether draws of the warm-up are kept."""
        return self.segments[0].phase == "warmup"

    def draws_after(self, iterations: int, phase: Phase = "sample") -> int:
        """Return the number of draws of a phase that a chain has after so many iterations."""
        for segment in self.segments:
            if segment.phase == phase:
                done = (iterations - segment.begin - segment.skipped) // self.thinning
                return min(max(done, 0), segment.draws)
        return 0

    def step(self, done: int, most_iterations: int, most_draws: int) -> Step:
        """Return the next step of at most so many iterations and draws.

        A step takes at least one iteration, or as many as a draw takes.
        """
        segment = next(s for s in reversed(self.segments) if s.begin <= done)
        inside = done - segment.begin
        if inside < segment.skipped:
            count = min(most_iterations, segment.skipped - inside)
            return Step(segment.phase, count, count, 0, 0)
        place = (inside - segment.skipped) // self.thinning
        draws = max(1, most_iterations // self.thinning)
        draws = min(draws, most_draws, segment.draws - place)
        return Step(segment.phase, draws * self.thinning, 0, place, draws)


def plan_of(num_warmup: int, num_samples: int, thinning: int, collect_warmup: bool) -> Plan:
    """Return the iterations of a run."""
    rest, draws = num_samples % thinning, num_samples // thinning
    if not (collect_warmup and num_warmup):
        return Plan((Segment("sample", 0, num_warmup + rest, draws),), thinning)
    first = Segment("warmup", 0, num_warmup % thinning, num_warmup // thinning)
    return Plan((first, Segment("sample", num_warmup, rest, draws)), thinning)
