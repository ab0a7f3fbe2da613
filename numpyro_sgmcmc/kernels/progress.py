"""The text beside the progress bar."""

from time import perf_counter
from typing import Any, final

import jax
import numpy as np

from numpyro_sgmcmc.state import ReplicaExchangeState

PERIOD = 0.1
"""Seconds for which the text is reused. Reading a state waits for the device, so NumPyro's loop
could not run ahead of it."""


@final
class Progress:
    """The text of the progress bar, read from a state at most ten times a second."""

    def __init__(self) -> None:
        self._words, self._until = "", 0.0

    def words(self, state: Any) -> str:
        """Return the numbers to show of this or a very recent state.

        They are the step size, the transitions of an iteration if the warm-up chose their number,
        the share of diverged iterations, and the smallest share of accepted swaps of a pair of
        replicas.
        """
        now = perf_counter()
        if now >= self._until:
            numbers = state.step_size, state.num_diverging, state.i, state.tuned.pace
            step_size, diverged, count, pace = jax.device_get(numbers)
            share = diverged / max(int(count), 1)
            steps = "" if pace is None else f"{pace.num_steps:,} steps per draw, "
            self._words = f"step size {step_size:.2e}, {steps}diverged {share:.1%}{_swaps(state)}"
            self._until = perf_counter() + PERIOD
        return self._words


def _swaps(state: Any) -> str:
    if not isinstance(state, ReplicaExchangeState):
        return ""
    rates = np.asarray(state.swaps.rates)
    known = rates[np.isfinite(rates)]
    return f", swaps {known.min():.0%}" if known.size else ""
