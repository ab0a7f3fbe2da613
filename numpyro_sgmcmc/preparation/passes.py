"""Passes over all rows that other processes make."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any


class AbstractPasses(ABC):
    """Processes that have the model and its data, and add up what each finds in its rows."""

    @abstractmethod
    def total(self, rows: Callable, centring: dict[str, Any] | None, inputs: tuple) -> Any:
        """Return `rows(view, minibatch, *inputs)` for all rows.

        Args:
            rows: function of a `View`, a minibatch and the inputs, linear in U. It is sent by its
                name, so it is one of a module.
            centring: weights of the coordinates of effects.
            inputs: pytrees of arrays.
        """
