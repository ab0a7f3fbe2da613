"""The draws of all servers, and the ages of their gradients."""

from abc import ABC, abstractmethod
from typing import Any, final

import jax
import numpy as np

from numpyro_sgmcmc.distributed.server import Result, draws_of

TOGETHER = 256
"""Results that are taken from the device together, at most."""
BYTES = 2**24
"""Bytes of results that are taken from the device together, about."""


class AbstractDraws(ABC):
    """Keeps what the servers' transitions have given."""

    @abstractmethod
    def add(self, server: int, result: Result) -> None:
        """Keep the draws and ages of a server's transitions."""

    @property
    @abstractmethod
    def count(self) -> int:
        """Number of draws that every server has."""

    @abstractmethod
    def ages(self) -> list[np.ndarray]:
        """Return the age of the gradient of each transition, for each server."""

    @abstractmethod
    def draws(self) -> dict[str, Any]:
        """Return the draws by field, (chain, draw, ...), as many as every server has."""

    @abstractmethod
    def close(self, status: str, sentence: str) -> None:
        """Say how the run ended, before the draws are read."""


@final
class DrawsInMemory(AbstractDraws):
    """Keeps everything in memory.

    Results are taken from the device in batches: small arrays cost a call each.

    Args:
        servers: number of servers.
    """

    def __init__(self, servers: int) -> None:
        self._draws: list[list[Any]] = [[] for _ in range(servers)]
        self._ages: list[list[np.ndarray]] = [[] for _ in range(servers)]
        self._counts = [0] * servers
        self._waiting: list[list[Result]] = [[] for _ in range(servers)]

    def add(self, server: int, result: Result) -> None:
        """Keep the draws and ages of a server's transitions."""
        self._ages[server].append(result.ages)
        count = result.count
        if not count:
            return
        waiting = self._waiting[server]
        waiting.append(result)
        self._counts[server] += count
        if len(waiting) >= min(TOGETHER, BYTES // result.nbytes):
            self._settle(server)

    @property
    def count(self) -> int:
        """Number of draws that every server has."""
        return min(self._counts)

    def ages(self) -> list[np.ndarray]:
        """Return the age of the gradient of each transition, for each server."""
        return [np.concatenate([np.zeros(0, np.int32), *parts]) for parts in self._ages]

    def draws(self) -> dict[str, Any]:
        """Return the draws by field, (chain, draw, ...), as many as every server has."""
        count = self.count
        each = [jax.tree.map(lambda x: x[:count], self._whole(i)) for i in range(len(self._draws))]
        return jax.tree.map(lambda *chains: np.stack(chains), *each)

    def close(self, status: str, sentence: str) -> None:
        """Do nothing."""

    def taken(self, count: int) -> dict[str, Any]:
        """Return the first draws of every server, (chain, draw, ...), and forget them."""
        chains = []
        for server in range(len(self._draws)):
            whole = self._whole(server)
            chains.append(jax.tree.map(lambda x: x[:count], whole))
            self._draws[server] = [jax.tree.map(lambda x: x[count:], whole)]
            self._counts[server] -= count
        return jax.tree.map(lambda *arrays: np.stack(arrays), *chains)

    def _whole(self, server: int) -> dict[str, Any]:
        """Return a server's draws, (draw, ...)."""
        self._settle(server)
        return jax.tree.map(lambda *parts: np.concatenate(parts), *self._draws[server])

    def _settle(self, server: int) -> None:
        """Take a server's results from the device."""
        if self._waiting[server]:
            self._draws[server].append(draws_of(self._waiting[server]))
            self._waiting[server] = []
