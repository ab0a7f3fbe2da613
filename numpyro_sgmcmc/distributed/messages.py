"""What servers and workers send each other."""

from typing import NamedTuple

import numpy as np


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
