"""Interface of minibatch schemes: which rows of each subsampled plate a step sees."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import jax

from numpyro_sgmcmc.types import Indices, Plate


class AbstractMinibatch(ABC):
    """Draws, for each subsampled plate by name, the indices of a minibatch.

    Shapes are static: `plates` is not traced. Plates are drawn independently of each other.

    Attributes:
        is_independent: whether a minibatch says nothing of the next. Within an epoch the noise of
            one makes up for that of the others.
        is_shared: whether vectorised chains all see the first one's minibatch.
        is_contiguous: whether rows are r, r + 1, ..., from the last on to the first: they are then
            sliced.
    """

    is_independent: ClassVar[bool] = True
    is_shared: ClassVar[bool] = False
    is_contiguous: ClassVar[bool] = False

    @abstractmethod
    def init(self, key: jax.Array, plates: dict[str, Plate]) -> Any:
        """Return the scheme's first state, a pytree."""

    @abstractmethod
    def draw(
        self, key: jax.Array, count: jax.Array, plates: dict[str, Plate], state: Any
    ) -> tuple[Indices, Any]:
        """Return the indices of minibatch number `count`, by plate name, and the next state."""
