"""What a worker computes for a pass over all rows: the sum over its part of them."""

from collections.abc import Callable
from functools import partial
from pickle import loads
from typing import Any, NamedTuple, final

import jax
import numpy as np

from numpyro_sgmcmc.distributed.gradients import Model
from numpyro_sgmcmc.minibatch import UniformMinibatch
from numpyro_sgmcmc.model import read_structure, split_arguments
from numpyro_sgmcmc.preparation import Target, View

PARTS = 16
"""Parts of a pass, whatever the number of workers: the sum does not depend on it."""


class Task(NamedTuple):
    """What is added up.

    Attributes:
        latent_move: of the kernel, on which the reading of the model depends.
        rows: function of a `View`, a minibatch and the inputs.
        centring: weights of the coordinates of effects, or None.
        inputs: pytrees of NumPy arrays.
    """

    latent_move: str | None
    rows: Callable
    centring: dict[str, Any] | None
    inputs: tuple


@final
class PartSums:
    """The compiled programs of a worker for passes over all rows.

    Args:
        model: the model, whose arrays go to the device once.
    """

    def __init__(self, model: Model) -> None:
        arrays, rebuild = split_arguments(model.args, model.kwargs)
        self._function = model.function
        self._args, self._kwargs = rebuild(jax.device_put(arrays))
        self._target: Target | None = None

    def part(self, number: int, task: bytes) -> Any:
        """Return the sum over a part, of NumPy arrays."""
        latent_move, rows, centring, inputs = Task(*loads(task))
        if self._target is None:
            args, kwargs = self._args, self._kwargs
            structure = read_structure(self._function, args, kwargs, latent_move)
            self._target = Target(structure, UniformMinibatch(), args, kwargs)
        target = self._target.partly_centred(centring)
        program = partial(_part, rows)
        found = target.run(program, np.int32(number), *inputs, name=("part", rows))
        return jax.tree.map(np.asarray, found)


def _part(rows: Callable, view: View, number: jax.Array, *inputs: Any) -> Any:
    return view.part_of_total(rows, number, PARTS, inputs)
