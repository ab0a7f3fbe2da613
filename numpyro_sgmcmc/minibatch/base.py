"""Interface of minibatch schemes, which draw the rows of each subsampled plate for a step."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import jax

from numpyro_sgmcmc.types import Indices, Plate


class Epoch(NamedTuple):
    """The dependence between the gradient noises of a plate's minibatches.

    Attributes:
        order: the numbers of an epoch's blocks of rows, in the order of their use. A block may be
            used again. After the last one a new epoch begins, with other blocks.
        repulsion: r, if -r is the correlation of the noise of two blocks: 1 / (K - 1) for K blocks
            that hold all rows, whose noise sums to zero.
    """

    order: tuple[int, ...]
    repulsion: float


class AbstractMinibatch(ABC):
    """Draws, for each subsampled plate by name, the indices of a minibatch.

    Shapes are static: `plates` is not traced. Plates are drawn independently of each other.

    Attributes:
        is_independent: whether minibatches are independent of each other. Those of one epoch are
            not: their errors cancel.
        is_shared: whether all vectorised chains use the minibatch of the first chain.
        is_contiguous: whether the rows are r, r + 1, ..., and continue at 0 after the last row. The
            kernel then slices arrays, which is faster than gathering rows.
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

    def epoch(self, plate: Plate) -> Epoch | None:
        """Return the dependence between the noises of minibatches; None if it is not known."""
        return None
