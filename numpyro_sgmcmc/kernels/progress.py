"""Words beside the progress bar."""

from time import perf_counter
from typing import Any, final

import jax

PERIOD = 0.1
"""Seconds for which words hold: to read a state is to wait for it, which keeps NumPyro's loop from
going ahead of the device."""


@final
class Progress:
    """What the progress bar says of a state, read ten times a second at most."""

    def __init__(self) -> None:
        self._words, self._until = "", 0.0

    def words(self, state: Any) -> str:
        """Return step size and share of diverged iterations, of this state or one just before."""
        now = perf_counter()
        if now >= self._until:
            numbers = state.step_size, state.num_diverging, state.i
            step_size, diverged, count = jax.device_get(numbers)
            share = diverged / max(int(count), 1)
            self._words = f"step size {step_size:.2e}, diverged {share:.1%}"
            self._until = perf_counter() + PERIOD
        return self._words
