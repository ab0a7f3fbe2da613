"""Draws in the memory of the host, each held once."""

import math
from typing import Any, final

import jax
import numpy as np

from numpyro_sgmcmc.driving.keeper import AbstractKeeper
from numpyro_sgmcmc.driving.plan import Phase, Plan, Step
from numpyro_sgmcmc.driving.sampled import by_site, sampled

ALIGNMENT = 64
"""Bytes. XLA uses an aligned array of the host without a copy."""


@final
class DrawsInMemory(AbstractKeeper):
    """Draws of all chains in arrays that are allocated once.

    Args:
        sample_field: the field that holds the draws.
        plan: the iterations of the run.
        shapes: shape and type of what is kept of one draw, with an axis of chains in front.
    """

    def __init__(self, sample_field: str, plan: Plan, shapes: Any) -> None:
        self._sample_field = sample_field
        self._arrays: dict[Phase, Any] = {
            segment.phase: jax.tree.map(lambda x, n=segment.draws: _empty(x, n), shapes)
            for segment in plan.segments
        }

    def add(self, step: Step, draws: Any) -> None:
        """Write the draws of a step to their place."""
        to = slice(step.place, step.place + step.draws)

        def write(array: np.ndarray, new: np.ndarray) -> None:
            array[:, to] = new

        jax.tree.map(write, self._arrays[step.phase], draws)

    def sampled(self, count: int, kept: int) -> dict[str, np.ndarray]:
        """Return at most `kept` of the first draws by site, evenly spaced, (chain, draw, entry)."""
        sites = by_site(self._arrays["sample"][self._sample_field])
        return sampled({name: array[:, :count] for name, array in sites.items()}, kept)

    def is_due(self) -> bool:
        """Return False: the state is not saved."""
        return False

    def save(self, state: Any, iterations: int) -> None:
        """Do nothing."""

    def taken(self, phase: Phase, count: int) -> tuple[Any, Any]:
        """Return the first draws of a phase, (chain, draw, ...) and (chain x draw, ...).

        Both share memory. The draws cannot be added to any more.
        """
        found = jax.tree.map(lambda x: _closed_up(x, count), self._arrays.pop(phase))
        flat = jax.tree.map(lambda x: x.reshape(x.shape[0] * x.shape[1], *x.shape[2:]), found)
        return _shared(found), _shared(flat)


def _empty(one: Any, count: int) -> np.ndarray:
    """Return an array for so many draws that begins at an address that XLA can use."""
    shape = (one.shape[0], count, *one.shape[1:])
    size = math.prod(shape) * one.dtype.itemsize
    memory = np.empty(size + ALIGNMENT, np.uint8)
    begin = -memory.ctypes.data % ALIGNMENT
    return memory[begin : begin + size].view(one.dtype).reshape(shape)


def _closed_up(array: np.ndarray, count: int) -> np.ndarray:
    """Return the first draws of each chain, moved together within the same memory."""
    chains, length = array.shape[:2]
    if count == length:
        return array
    flat = array.reshape(chains * length, *array.shape[2:])
    for chain in range(1, chains):
        flat[chain * count : (chain + 1) * count] = array[chain, :count]
    return flat[: chains * count].reshape(chains, count, *array.shape[2:])


def _shared(arrays: Any) -> Any:
    """Return JAX's arrays, on a CPU without a copy."""
    return jax.tree.map(lambda x: jax.device_put(x, may_alias=True), arrays)
