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


class Part(NamedTuple):
    """A part of a pass over all rows.

    Attributes:
        number: of the part.
        task: what is computed there, pickled, the same for all parts.
    """

    number: int
    task: bytes


class Answer(NamedTuple):
    """The answer to a request.

    Attributes:
        server: number of the server.
        step: number of the first transition.
        version: version of the estimator that was used.
        values: estimates of the gradient of U, and after each of them that of U, (b, d + 1).
        seconds: what their computation took.
    """

    server: int
    step: int
    version: int
    values: np.ndarray
    seconds: float


Message = Request | Answer


def packed(message: Message) -> bytes | Message:
    """Return a small message as bytes, which Ray sends without looking for arrays in them.

    An array is written as its type, shape and bytes, which takes a tenth of the time of NumPy's own
    pickling. A large message stays as it is: its arrays are then read where they are.
    """
    if isinstance(message, Request):
        numbers: tuple = message[:4]
        arrays = [message.position, message.keys, *message.schemes]
    else:
        numbers = message.server, message.step, message.version
        arrays = [message.values]
    if sum([array.nbytes for array in arrays]) > SMALL:
        return message
    plain = [(_name(array.dtype), array.shape, array.tobytes()) for array in arrays]
    seconds = None if isinstance(message, Request) else message.seconds
    return dumps((numbers, plain, seconds), protocol=5)


def unpacked(message: Any) -> Any:
    """Return the message that `packed` was given. Arrays that were bytes are read-only."""
    if not isinstance(message, bytes):
        return message
    numbers, plain, seconds = loads(message)
    arrays = [np.ndarray(shape, dtype, data) for dtype, shape, data in plain]
    if seconds is None:
        server, step, count, version = numbers
        return Request(server, step, count, version, arrays[0], arrays[1], arrays[2:])
    server, step, version = numbers
    return Answer(server, step, version, arrays[0], seconds)


def _name(dtype: np.dtype) -> Any:
    """Return what stands for a type; those of `ml_dtypes` are all called V2 or V1 by `str`."""
    return dtype if dtype.kind == "V" else dtype.str
