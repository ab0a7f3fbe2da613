"""Draws of servers that go to a folder, with the states at a mark that all servers have passed."""

from typing import Any, final

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.distributed.calendar import Calendar
from numpyro_sgmcmc.distributed.keeper import AbstractDraws, DrawsInMemory
from numpyro_sgmcmc.distributed.server import Result
from numpyro_sgmcmc.driving.finish import read_back
from numpyro_sgmcmc.driving.on_disk import DrawsOnDisk
from numpyro_sgmcmc.driving.plan import Plan, Step
from numpyro_sgmcmc.staleness import no_past


@final
class DrawsInFolder(AbstractDraws):
    """Holds draws in memory until all servers have them, and then writes them.

    Servers are not equally far. What is committed are the draws up to the last mark that all
    servers have passed, and their states there.

    Args:
        disk: what writes the folder.
        plan: the iterations, as the folder counts them.
        calendar: the iterations of a chain.
        servers: number of servers.
        done: iterations that the folder has.
        largest: length of the states' rings of old points, less one.
        shapes: what is kept of one draw, by field.
    """

    def __init__(
        self,
        disk: DrawsOnDisk,
        plan: Plan,
        calendar: Calendar,
        servers: int,
        done: int,
        largest: int,
        shapes: Any,
    ) -> None:
        self._disk, self._plan, self._calendar = disk, plan, calendar
        self._largest, self._shapes = largest, shapes
        self._new = DrawsInMemory(servers)
        self._marks: list[dict[int, Any]] = [{} for _ in range(servers)]
        self._done, self._state = done, None

    def add(self, server: int, result: Result) -> None:
        """Keep the draws of a server's transitions, and commit if it is time."""
        self._new.add(server, result)
        if result.mark is not None:
            self._marks[server][result.mark] = result.state
            if self._disk.is_due() and self._write():
                self._disk.save(self._state, self._done)

    @property
    def count(self) -> int:
        """Number of draws that every server has, with those in the folder."""
        return self._plan.draws_after(self._done) + self._new.count

    def ages(self) -> list[np.ndarray]:
        """Return the ages of the gradients of this process, for each server."""
        return self._new.ages()

    def draws(self) -> dict[str, Any]:
        """Return the draws in the folder."""
        grouped, _ = read_back(self._disk, self._plan, self._shapes)[:2]
        return dict(grouped)

    def close(self, status: str, sentence: str) -> None:
        """Make the last commit, at the last mark that all servers have passed."""
        self._write()
        if self._state is not None:
            self._disk.finish(self._state, self._done, status, sentence)

    def _write(self) -> bool:
        """Write the draws up to the last mark; return whether there is a new one."""
        shared = set.intersection(*(set(marks) for marks in self._marks))
        mark = max(shared, default=self._done)
        if mark <= self._done:
            return False
        place = self._plan.draws_after(self._done)
        count = self._plan.draws_after(mark) - place
        if count:
            step = Step("sample", mark - self._done, 0, place, count)
            self._disk.add(step, self._new.taken(count))
        self._state = self._stacked([marks[mark] for marks in self._marks])
        self._marks = [{n: s for n, s in marks.items() if n > mark} for marks in self._marks]
        self._done = mark
        return True

    def _stacked(self, states: list[Any]) -> Any:
        """Return states as the kernel makes them, with an empty ring of old points."""
        whole = [state._replace(past=self._ring(state)) for state in states]
        if len(whole) == 1:
            return whole[0]
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), *whole)

    def _ring(self, state: Any) -> Any:
        points = state.past.points
        return no_past(jnp.zeros(points.shape[-1], points.dtype), self._largest)
