"""The interface of a set of workers."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

from numpyro_sgmcmc.distributed.messages import Part, Request


class Answered(NamedTuple):
    """A worker has answered and is free.

    Attributes:
        worker: its number.
        request: the `Request` or `Part` that it was asked for.
        answer: what it said: an `Answer` to a `Request`, a sum to a `Part`.
    """

    worker: int
    request: Any
    answer: Any


class Joined(NamedTuple):
    """A worker has started and is free."""

    worker: int


class Lost(NamedTuple):
    """A worker has ended or was ended, with what it was asked for, and another one is starting.

    Attributes:
        worker: its number, which the new worker takes over.
        request: what it leaves open, a `Request` or `Part`, or None.
        why: the reason in words.
    """

    worker: int
    request: Any
    why: str


Event = Answered | Joined | Lost


class AbstractPool(ABC):
    """Workers that compute gradients, one request at a time each."""

    @abstractmethod
    def hold(self, server: int, version: int, state: Any) -> None:
        """Send all workers, also those to come, the state of a server's gradient estimator.

        A request that is submitted afterwards is computed with it.
        """

    @abstractmethod
    def submit(self, worker: int, request: Request | Part) -> None:
        """Send a request to a free worker."""

    @property
    @abstractmethod
    def is_busy(self) -> bool:
        """Whether `wait` will return further events.

        False means that no worker computes or starts. What was submitted and not answered by then
        is lost.
        """

    @abstractmethod
    def wait(self, seconds: float) -> list[Event]:
        """Return what has happened, after at most so many seconds; the list may be empty.

        Raises:
            RuntimeError: if no worker is left and none can be started.
        """
