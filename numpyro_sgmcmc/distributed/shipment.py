"""A model as it is sent to workers: its arrays apart from the rest, and files by their paths."""

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import jax
import numpy as np

from numpyro_sgmcmc.distributed.gradients import Model
from numpyro_sgmcmc.distributed.in_file import InFile, in_file


@final
@dataclass(frozen=True)
class Place:
    """Stands for an array that is sent apart."""

    number: int


class Shipment(NamedTuple):
    """What is sent to a worker.

    Attributes:
        model: with a `Place` for each array in memory, and an `InFile` for each one in a file.
        arrays: those in memory.
    """

    model: Model
    arrays: list[np.ndarray]

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that are sent."""
        return sum(array.nbytes for array in self.arrays)


def shipment_of(model: Model) -> Shipment:
    """Return a model as it is sent."""
    arrays: list[np.ndarray] = []

    def sent(leaf: Any) -> Any:
        if not isinstance(leaf, np.ndarray):
            return leaf
        place = in_file(leaf)
        if place is None:
            arrays.append(np.asarray(leaf))
            place = Place(len(arrays) - 1)
        return place

    args, kwargs = jax.tree.map(sent, (model.args, model.kwargs))
    return Shipment(Model(model.function, args, kwargs), arrays)


def received(model: Model, arrays: list[np.ndarray]) -> Model:
    """Return the model of a shipment, whose files are opened.

    Raises:
        ValueError: if a file is not on this machine.
    """

    def found(leaf: Any) -> Any:
        if isinstance(leaf, InFile):
            return leaf.opened()
        return arrays[leaf.number] if isinstance(leaf, Place) else leaf

    return Model(model.function, *jax.tree.map(found, (model.args, model.kwargs)))
