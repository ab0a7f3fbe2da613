"""What servers and workers send each other."""

from pickle import dumps, loads
from typing import Any, NamedTuple

import numpy as np

SMALL = 65_536
"""Bytes of arrays up to which a message is sent as one."""


class Request(NamedTuple):
    """A request for the gradients of some consecutive transitions, all at one position.

    A request that is sent again is equal to the first one, and so is its answer: keys and position
    are part of it.

    Attributes:
        server: number of the server.
        step: number of the first transition.
        count: number of transitions, at most the number of keys.
        version: how often the server's gradient estimator has been renewed.
        position: where the gradients are needed, flat, (d,).
        keys: data of the keys of the minibatches, (b, words).
        schemes: leaves of the minibatch scheme's states before these minibatches, each (b, ...).
    """

    server: int
    step: int
    count: int
    version: int
    position: np.ndarray
    keys: np.ndarray
    schemes: list[np.ndarray]


class Answer(NamedTuple):
    """The answer to a request.

    Attributes:
        server: number of the server.
        step: number of the first transition.
        version: version of the estimator that was used.
        energies: estimates of U, (b,).
        gradients: estimates of its gradient, (b, d).
        seconds: what their computation took.
    """

    server: int
    step: int
    version: int
    energies: np.ndarray
    gradients: np.ndarray
    seconds: float


Message = Request | Answer


def packed(message: Message) -> bytes | Message:
    """Return a small message as bytes, which Ray sends without looking for arrays in them.

    A large one stays as it is: its arrays are then read where they are.
    """
    arrays = [part for part in message if isinstance(part, np.ndarray)]
    return dumps(message, protocol=5) if sum(x.nbytes for x in arrays) <= SMALL else message


def unpacked(message: Any) -> Any:
    """Return the message that `packed` was given."""
    return loads(message) if isinstance(message, bytes) else message
