"""Minibatches that use every row once in an epoch, in a new random order each time."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, final

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.cpu.trips import in_two_trips
from numpyro_sgmcmc.minibatch.base import AbstractMinibatch, Epoch
from numpyro_sgmcmc.minibatch.permutation import permuted, round_keys
from numpyro_sgmcmc.minibatch.uniform import split_by_plate
from numpyro_sgmcmc.pytree import as_pytree
from numpyro_sgmcmc.types import Indices, Plate


class Stream(NamedTuple):
    """A position in an endless sequence of epochs, each of which is a random permutation.

    Attributes:
        key: key of all permutations of this plate.
        epoch: number of the epoch.
        place: number of rows of the epoch that have been used.
    """

    key: jax.Array
    epoch: jax.Array
    place: jax.Array


def new_stream(key: jax.Array) -> Stream:
    """Return a stream at its beginning."""
    return Stream(key, jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int32))


def advance(stream: Stream, size: int, count: int) -> Stream:
    """Return the stream after `count` more rows."""
    place = stream.place + count
    return stream._replace(epoch=stream.epoch + place // size, place=place % size)


def read(stream: Stream, size: int, first: Any, count: int) -> jax.Array:
    """Return `count` rows from place `first` on, counted from the stream's position.

    At most N rows are read, so that their places lie in at most two epochs.
    """
    begin = stream.place + first
    epoch = stream.epoch + begin // size
    early, late = (
        round_keys(random.fold_in(stream.key, number), size) for number in (epoch, epoch + 1)
    )
    begin = begin % size

    def rows(places: jax.Array) -> jax.Array:
        places = begin + places
        is_late = places >= size
        # One array for each round, because XLA would compute a joint array again in each round.
        keys = [jnp.where(is_late, *both) for both in zip(late, early, strict=True)]
        return permuted(keys, size, jnp.where(is_late, places - size, places))

    return in_two_trips(count, rows)


@final
@as_pytree()
@dataclass(frozen=True)
class ReshuffledMinibatch(AbstractMinibatch):
    """Uses every row once in an epoch, in a new random order in each epoch.

    If B does not divide N, the last rows of an epoch share a minibatch with the first rows of the
    next. Every minibatch has B rows of weight N / B, and each minibatch alone is uniform, so the
    gradient is unbiased. The errors of the minibatches sum to zero over an epoch. With `SGHMCSplit`
    the first-order bias h V / (2 D) of independent minibatches therefore cancels, and the
    stationary distribution is of second order in h (tests/exactness/test_epochs.py compares it with
    the exact one of a Gaussian). The constant grows with the time N h / B of an epoch, so the
    scheme gains little if a walker decorrelates within an epoch.

    The permutation is evaluated at B places only, so the cost of a step does not depend on N.
    """

    is_independent: ClassVar[bool] = False

    def init(self, key: jax.Array, plates: dict[str, Plate]) -> dict[str, Stream]:
        """Return each plate's stream at its beginning."""
        keys = split_by_plate(key, len(plates))
        return {name: new_stream(k) for name, k in zip(plates, keys, strict=True)}

    def draw(
        self, key: jax.Array, count: jax.Array, plates: dict[str, Plate], state: Any
    ) -> tuple[Indices, dict[str, Stream]]:
        """Return the next B rows of each plate's stream; `key` is not used."""
        rows, streams = {}, {}
        for name, (size, batch) in plates.items():
            rows[name] = read(state[name], size, 0, batch)
            streams[name] = advance(state[name], size, batch)
        return rows, streams

    def epoch(self, plate: Plate) -> Epoch:
        """Return blocks that are used once. If B does not divide N, their number is rounded."""
        blocks = max(round(plate.size / plate.subsample_size), 1)
        return Epoch(tuple(range(blocks)), 1 / max(blocks - 1, 1))
