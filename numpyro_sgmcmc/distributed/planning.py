"""How many transitions a request has, and the ages of gradients that follow from it."""

from math import ceil

import numpy as np

from numpyro_sgmcmc.staleness import AbstractDelay, FixedDelay, ObservedDelay


def share_of(num_workers: int, num_servers: int, bound: int) -> int:
    """Return the most requests of a server that are with workers at a time."""
    return min(ceil(num_workers / num_servers), bound + 1)


def size_of(round_trip: float, gradient: float, share: int, bound: int) -> int:
    """Return the transitions of a request: gradients that take as long as a round trip together.

    Args:
        round_trip: seconds of a message to a worker and back.
        gradient: seconds of a gradient.
        share: requests of a server at a time.
        bound: the largest age of a gradient.
    """
    wanted = ceil(round_trip / max(gradient, 1e-9))
    return max(1, min(wanted, (bound + 1) // share))


def planned_delay(share: int, size: int) -> AbstractDelay:
    """Return the ages of gradients if all answers take equally long.

    When a request is sent, `share` - 1 others are on their way, and its gradients are for
    consecutive transitions.
    """
    youngest = (share - 1) * size
    if size == 1:
        return FixedDelay(youngest)
    frequencies = np.concatenate([np.zeros(youngest), np.full(size, 1 / size)])
    return ObservedDelay(tuple(frequencies.tolist()))
