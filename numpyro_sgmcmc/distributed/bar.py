"""The progress bar over all servers."""

from collections.abc import Sequence
from time import perf_counter
from typing import final

from tqdm.auto import tqdm

from numpyro_sgmcmc.distributed.calendar import Calendar
from numpyro_sgmcmc.distributed.keeper import AbstractDraws
from numpyro_sgmcmc.distributed.server import Server
from numpyro_sgmcmc.distributed.tally import Tally

PERIOD = 0.25
"""Seconds between two movements."""


@final
class ServersBar:
    """Shows the iterations of all servers together, their draws, and what went wrong.

    Args:
        calendar: the iterations of a chain.
        servers: number of servers.
        is_shown: whether there is a bar at all.
    """

    def __init__(self, calendar: Calendar, servers: int, is_shown: bool) -> None:
        self._calendar, self._next = calendar, 0.0
        self._bar = tqdm(total=servers * calendar.iterations, disable=not is_shown)

    def move(self, servers: Sequence[Server], keeper: AbstractDraws, tally: Tally) -> None:
        """Show how far the servers are, a few times a second."""
        if self._bar.disable or perf_counter() < self._next:
            return
        self._next = perf_counter() + PERIOD
        done = [self._calendar.iterations_after(one.ledger.taken) for one in servers]
        age = max((one.ledger.asked - one.ledger.taken for one in servers), default=0)
        words = [
            f"{len(servers)} servers",
            f"{keeper.count:,} draws each",
            f"age {max(age - 1, 0)}",
        ]
        self._bar.set_description("sample" if keeper.count else "warmup", refresh=False)
        self._bar.set_postfix_str(", ".join([*words, tally.words()]).rstrip(", "), refresh=False)
        self._bar.update(sum(done) - self._bar.n)

    def close(self) -> None:
        """Leave the bar as it is."""
        self._bar.close()
