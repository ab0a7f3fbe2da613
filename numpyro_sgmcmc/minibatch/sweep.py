"""Minibatches that run through an epoch's blocks forwards and then backwards."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, final

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.minibatch.base import AbstractMinibatch, Epoch
from numpyro_sgmcmc.minibatch.reshuffled import Stream, advance, new_stream, read
from numpyro_sgmcmc.minibatch.uniform import split_by_plate
from numpyro_sgmcmc.types import Indices, Plate


class Sweep(NamedTuple):
    """A sweep over the next K blocks of the stream; `step` counts from 0 to 2 K - 1."""

    stream: Stream
    step: jax.Array


@final
@dataclass(frozen=True)
class SweepMinibatch(AbstractMinibatch):
    """An epoch's blocks in random order 1, ..., K, then K, ..., 1: symmetric minibatch splitting.

    K is N / B rounded down. A palindrome of symmetric steps is a symmetric map, whose error expands
    in even powers of h, and the potentials of its blocks average to U. With `SGHMCSplit` the
    first-order bias h V / (2 D) of independent minibatches therefore cancels, and the stationary
    distribution is of second order in h, with a constant of the order of (2 K h)^2. The scheme pays
    off if an epoch is short compared with the relaxation time (Paulin, Whalley, Chada and
    Leimkuhler 2024, "Sampling from Bayesian Neural Network Posteriors with Symmetric Minibatch
    Splitting Langevin Dynamics", https://arxiv.org/abs/2410.19780). `ReshuffledMinibatch` also
    cancels the first-order term, but not the terms of odd order from the third on. Kernels whose
    steps are not symmetric (`SGLD`, `SGHMC`) keep their order.

    If B does not divide N, the remaining rows begin the next sweep. All rows are used equally
    often, but the blocks of a sweep average to U only approximately, and a part of the first-order
    term remains.
    """

    is_independent: ClassVar[bool] = False

    def init(self, key: jax.Array, plates: dict[str, Plate]) -> dict[str, Sweep]:
        """Return each plate's sweep at its beginning."""
        keys = split_by_plate(key, len(plates))
        zero = jnp.zeros((), jnp.int32)
        return {name: Sweep(new_stream(k), zero) for name, k in zip(plates, keys, strict=True)}

    def draw(
        self, key: jax.Array, count: jax.Array, plates: dict[str, Plate], state: Any
    ) -> tuple[Indices, dict[str, Sweep]]:
        """Return the next block of each plate's stream; `key` is not used."""
        rows, sweeps = {}, {}
        for name, (size, batch) in plates.items():
            stream, step = state[name]
            blocks = size // batch
            block = jnp.minimum(step, 2 * blocks - 1 - step)
            rows[name] = read(stream, size, block * batch, batch)
            is_over = step == 2 * blocks - 1
            ahead = advance(stream, size, blocks * batch)
            stream = Stream(
                stream.key,
                jnp.where(is_over, ahead.epoch, stream.epoch),
                jnp.where(is_over, ahead.place, stream.place),
            )
            sweeps[name] = Sweep(stream, jnp.where(is_over, 0, step + 1))
        return rows, sweeps

    def epoch(self, plate: Plate) -> Epoch:
        """Return blocks that are used twice. If B does not divide N, some rows are in no block."""
        blocks = tuple(range(plate.size // plate.subsample_size))
        left = plate.size - plate.subsample_size
        return Epoch(blocks + blocks[::-1], plate.subsample_size / left if left else 0.0)
