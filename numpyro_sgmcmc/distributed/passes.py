"""Passes over all rows by workers, before a run."""

from collections import deque
from collections.abc import Callable
from pickle import dumps
from typing import Any, final

import jax
import numpy as np

from numpyro_sgmcmc.distributed.loop import MOST_LOSSES
from numpyro_sgmcmc.distributed.messages import Part
from numpyro_sgmcmc.distributed.part_sums import PARTS, Task
from numpyro_sgmcmc.distributed.pool import AbstractPool, Answered, Joined, Lost
from numpyro_sgmcmc.model import Structure
from numpyro_sgmcmc.preparation import AbstractPasses

MANY_MINIBATCHES = 64
"""Minibatches of a pass from which it is left to workers; shorter ones are made here."""

TICK = 1.0
"""Seconds of a wait."""


def are_long(structure: Structure) -> bool:
    """Return whether workers make passes over the rows of a model."""
    if structure.local is not None or len(structure.plates) != 1:
        return False
    ((size, batch),) = structure.plates.values()
    return size >= MANY_MINIBATCHES * batch


@final
class WorkerPasses(AbstractPasses):
    """Passes over all rows by the workers of a pool, a part at a time each.

    Parts are added in their order, so a sum depends neither on the workers nor on their number. A
    part is computed again if its worker is lost.

    Args:
        pool: workers that nobody else asks meanwhile.
        free: those that have started.
        latent_move: of the kernel.
    """

    def __init__(self, pool: AbstractPool, free: list[int], latent_move: str | None) -> None:
        self._pool, self._free, self._latent_move = pool, deque(free), latent_move
        self.count = 0

    def total(self, rows: Callable, centring: dict[str, Any] | None, inputs: tuple) -> Any:
        """Return `rows(view, minibatch, *inputs)` for all rows."""
        self.count += 1
        given = jax.tree.map(np.asarray, (centring, inputs))
        task = dumps(tuple(Task(self._latent_move, rows, *given)))
        parts = self._computed([Part(number, task) for number in range(PARTS)])
        return jax.tree.map(lambda *each: sum(each[1:], start=each[0]), *parts)

    def _computed(self, parts: list[Part]) -> list[Any]:
        found: dict[int, Any] = {}
        left, losses = deque(parts), 0
        while len(found) < len(parts):
            while self._free and left:
                self._pool.submit(self._free.popleft(), left.popleft())
            events = self._pool.wait(TICK)
            if not events and not self._pool.is_busy:
                raise RuntimeError(
                    f"Expected {len(parts)} parts of a pass over all rows; got {len(found)}, and"
                    " no worker that computes or starts. Run again; if it happens again, please"
                    " report it."
                )
            for event in events:
                losses = self._noted(event, found, left, losses)
        return [found[part.number] for part in parts]

    def _noted(self, event: Any, found: dict, left: deque[Part], losses: int) -> int:
        """Note what happened, and return how many workers were lost one after the other."""
        if isinstance(event, Joined):
            self._free.append(event.worker)
            return losses
        if isinstance(event, Lost):
            self._free = deque(one for one in self._free if one != event.worker)
            if isinstance(event.request, Part):
                left.append(event.request)
            if losses == MOST_LOSSES:
                raise RuntimeError(
                    f"Expected workers that add up a {PARTS}th of the rows; got {losses + 1} that"
                    f" were lost one after the other, the last one because it was {event.why}. If"
                    " they are silent, raise `timeout`; if they need more memory, use fewer."
                )
            return losses + 1
        assert isinstance(event, Answered) and isinstance(event.request, Part)
        found[event.request.number] = event.answer
        self._free.append(event.worker)
        return 0
