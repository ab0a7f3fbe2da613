"""The loop of the host: one call of the compiled program after the other."""

from time import perf_counter
from typing import Any, Literal, NamedTuple, final

import jax

from numpyro_sgmcmc.driving.bar import Bar, step_size_of
from numpyro_sgmcmc.driving.interrupt import Interrupt
from numpyro_sgmcmc.driving.keeper import AbstractKeeper
from numpyro_sgmcmc.driving.plan import Plan, Step
from numpyro_sgmcmc.driving.program import Program
from numpyro_sgmcmc.driving.until import Until, next_check

TARGET = 0.25
"""Seconds of a call. After this time Ctrl-C is handled, and the bar moves."""
GROWTH = 8
"""The largest ratio of iterations between a call and the one before."""


class Work(NamedTuple):
    """What a run does, which does not change in its course.

    Attributes:
        program: the compiled program.
        inputs: of every call of the program.
        plan: the iterations.
        capacity: most draws of a call.
        keeper: what keeps the draws.
        until: the condition to end early, or None.
        is_together: whether chains share their minibatches.
        target: seconds of a call.
    """

    program: Program
    inputs: tuple
    plan: Plan
    capacity: int
    keeper: AbstractKeeper
    until: Until | None
    is_together: bool
    target: float = TARGET


class Stopped(NamedTuple):
    """Where a run stopped.

    Attributes:
        state: the last state of the chains.
        iterations: number of iterations of each chain.
        why: "complete"; "interrupted" by the user; or "precise", because `until` was met.
        precision: what `until` found at last.
    """

    state: Any
    iterations: int
    why: Literal["complete", "interrupted", "precise"]
    precision: str


def carry_out(work: Work, state: Any, done: int, bar: Bar) -> Stopped:
    """Run the iterations that are left, from the state after `done` of them.

    While the device computes, the host keeps the draws of the previous call. If the state is to be
    saved or the draws are to be checked, the device waits, because a call reuses the memory of the
    state.
    """
    pace, last = _Pace(work.target), None
    # A run that is resumed at a check repeats it.
    check = next_check(work.plan.draws_after(done) - 1) if work.until else work.plan.draws
    precision, why = "", "complete"
    with Interrupt() as interrupt:
        while True:
            drawn = work.plan.draws_after(done)
            is_over = done >= work.plan.iterations
            is_due = interrupt.is_asked or work.keeper.is_due()
            if last is not None and (is_over or is_due or drawn == check):
                last = _taken(work, last, bar, step_size_of(state) if bar.is_shown else "")
            if work.until is not None and drawn and (is_over or drawn == check):
                draws = work.keeper.sampled(drawn, work.until.kept(work.program.chains))
                reached = work.until.reached(draws, work.is_together)
                precision, check = reached.sentence, next_check(drawn)
                if reached.is_enough:
                    why = "precise"
                    break
            if is_over:
                break
            if interrupt.is_asked:
                why = "interrupted"
                break
            if is_due:
                work.keeper.save(state, done)
            most = min(work.capacity, max(check, drawn + 1) - drawn)
            step = work.plan.step(done, pace.iterations, most)
            words = step_size_of(state) if bar.is_shown and last is not None else ""
            begin = perf_counter()
            state, buffers = work.program.advance(state, step.iterations, step.skipped, work.inputs)
            if last is not None:
                _taken(work, last, bar, words)
            jax.block_until_ready(buffers)
            pace.note(step.iterations, perf_counter() - begin)
            done, last = done + step.iterations, (step, buffers)
    return Stopped(state, done, why, precision)


def _taken(work: Work, last: tuple[Step, Any], bar: Bar, words: str) -> None:
    """Keep and show the draws of a call that has ended."""
    step, buffers = last
    draws = work.program.draws(buffers, step.draws)
    if step.draws:
        work.keeper.add(step, draws)
    bar.move(step, draws, work.keeper, words)


@final
class _Pace:
    """The number of iterations that take about the same time in every call."""

    def __init__(self, target: float) -> None:
        self.iterations, self._target, self._is_first = 1, target, True

    def note(self, iterations: int, seconds: float) -> None:
        """Note what a call took; the first one includes the compilation."""
        if self._is_first:
            self._is_first, seconds = False, 0.0
        wanted = int(iterations * self._target / max(seconds, 1e-9))
        self.iterations = max(1, min(wanted, GROWTH * iterations))
