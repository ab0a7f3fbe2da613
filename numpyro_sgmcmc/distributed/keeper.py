"""The draws of all servers, and the ages of their gradients."""

from abc import ABC, abstractmethod
from typing import Any, final

import jax
import numpy as np

from numpyro_sgmcmc.distributed.server import Result


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

    Args:
        servers: number of servers.
    """

    def __init__(self, servers: int) -> None:
        self._draws: list[list[Any]] = [[] for _ in range(servers)]
        self._ages: list[list[np.ndarray]] = [[] for _ in range(servers)]
        self._counts = [0] * servers

    def add(self, server: int, result: Result) -> None:
        """Keep the draws and ages of a server's transitions."""
        self._ages[server].append(result.ages)
        draws = result.draws()
        if draws is not None:
            self._draws[server].append(draws)
            self._counts[server] += _length(draws)

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
        each = [
            jax.tree.map(lambda *parts: np.concatenate(parts)[:count], *parts)
            for parts in self._draws
        ]
        return jax.tree.map(lambda *chains: np.stack(chains), *each)

    def close(self, status: str, sentence: str) -> None:
        """Do nothing."""

    def taken(self, count: int) -> dict[str, Any]:
        """Return the first draws of every server, (chain, draw, ...), and forget them."""
        chains = []
        for server, parts in enumerate(self._draws):
            whole = jax.tree.map(lambda *parts: np.concatenate(parts), *parts)
            chains.append(jax.tree.map(lambda x: x[:count], whole))
            self._draws[server] = [jax.tree.map(lambda x: x[count:], whole)]
            self._counts[server] -= count
        return jax.tree.map(lambda *arrays: np.stack(arrays), *chains)


def _length(draws: dict[str, Any]) -> int:
    return len(jax.tree.leaves(draws)[0])
