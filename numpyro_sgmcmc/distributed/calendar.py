"""Which transitions begin and end the iterations of a chain, in plain integers."""

from dataclasses import dataclass
from functools import cached_property
from typing import final


@final
@dataclass(frozen=True)
class Calendar:
    """The iterations of a chain.

    Attributes:
        num_warmup: number of iterations that are thrown away.
        num_samples: number of iterations that give a draw.
        warmup_steps: transitions of each of the first.
        num_steps: transitions of each of the others.
        period: transitions between renewals of the gradient estimator; None for never.
        starts_anew: whether periods begin anew with the first draw.
        mark: iterations between two marks, at which the state of a chain can be kept. The end is a
            mark, too.
    """

    num_warmup: int
    num_samples: int
    warmup_steps: int
    num_steps: int
    period: int | None = None
    starts_anew: bool = False
    mark: int = 1_000_000_000

    @cached_property
    def iterations(self) -> int:
        """Number of iterations."""
        return self.num_warmup + self.num_samples

    @cached_property
    def transitions(self) -> int:
        """Number of transitions."""
        return self.first_of(self.iterations)

    def first_of(self, iteration: int) -> int:
        """Return the first transition of an iteration."""
        early = min(iteration, self.num_warmup)
        return early * self.warmup_steps + (iteration - early) * self.num_steps

    def iterations_after(self, transitions: int) -> int:
        """Return the number of iterations that so many transitions complete."""
        early = self.num_warmup * self.warmup_steps
        if transitions < early:
            return transitions // self.warmup_steps
        return self.num_warmup + (transitions - early) // self.num_steps

    def draws_after(self, transitions: int) -> int:
        """Return the number of draws after so many transitions."""
        return max(0, self.iterations_after(transitions) - self.num_warmup)

    def mark_at(self, transitions: int) -> int | None:
        """Return the iteration whose mark is after so many transitions, or None."""
        iteration = self.iterations_after(transitions)
        is_mark = iteration % self.mark == 0 or iteration == self.iterations
        return iteration if is_mark and self.first_of(iteration) == transitions else None

    def next_mark(self, transitions: int) -> int:
        """Return the number of transitions at the next mark."""
        after = (self.iterations_after(transitions) // self.mark + 1) * self.mark
        return self.first_of(min(after, self.iterations))

    def next_renewal(self, iteration: int) -> int:
        """Return the first iteration after this one that begins with a renewal, or their number."""
        if self.period is None:
            return self.iterations
        for later in range(iteration + 1, self.iterations):
            if self.is_renewal(later):
                return later
        return self.iterations

    def is_renewal(self, iteration: int) -> bool:
        """Return whether an iteration begins with a renewal; the kernels' own rule."""
        if self.period is None or iteration == 0:
            return False
        is_early = iteration < self.num_warmup
        steps = self.warmup_steps if is_early else self.num_steps
        done = iteration - self.num_warmup if self.starts_anew and not is_early else iteration
        return done % max(1, self.period // steps) == 0
