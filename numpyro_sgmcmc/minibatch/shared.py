"""One minibatch for all chains."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, final

import jax

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.minibatch.base import AbstractMinibatch
from numpyro_sgmcmc.minibatch.uniform import UniformMinibatch
from numpyro_sgmcmc.types import Indices, Plate


class SharedState(NamedTuple):
    """The key of the next minibatch, and the state of the scheme that draws it."""

    key: jax.Array
    inner: Any


@final
@dataclass(frozen=True)
class SharedMinibatch(AbstractMinibatch):
    """All vectorised chains use the same minibatch, drawn by another scheme.

    Its rows are gathered once, and products with them are matrix products. With hundreds of chains
    a step costs a fraction of a step with a minibatch for each chain.

    The distribution of each chain does not change, but the chains are not independent, because they
    share their gradient noise. If this noise has the share s of a draw's variance (Langevin
    dynamics with additive noise: s = h V / (2 + h V)), two chains have the correlation s, and a
    mean over C chains has the variance of a mean over C / (1 + (C - 1) s) independent chains. The
    variance between chains is then too small by the factor 1 - s, so R-hat may not detect a lack of
    convergence, and ArviZ's effective sample sizes are too large by up to 1 + (C - 1) s. Share
    minibatches only if the noise is small: with `FixedPoint()`, or with the step size that a
    warm-up chooses, for which s is at most 0.05, or 0.3 under a noise correction. `diagnose`
    reduces the effective sample sizes accordingly.

    Chains that run sequentially or on several devices do not share minibatches.

    Args:
        scheme: the scheme that draws the minibatch.
    """

    scheme: AbstractMinibatch = UniformMinibatch()  # noqa: RUF009 - immutable
    is_shared: ClassVar[bool] = True

    @property
    def is_independent(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether minibatches are independent of each other."""
        return self.scheme.is_independent

    @property
    def is_contiguous(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether the rows are r, r + 1, ..., and continue at 0 after the last row."""
        return self.scheme.is_contiguous

    def init(self, key: jax.Array, plates: dict[str, Plate]) -> SharedState:
        """Return the scheme's first state and a key."""
        key, key_scheme = random.split(key)
        return SharedState(key, self.scheme.init(key_scheme, plates))

    def draw(
        self, key: jax.Array, count: jax.Array, plates: dict[str, Plate], state: SharedState
    ) -> tuple[Indices, SharedState]:
        """Return the scheme's indices; the chain's own key is not used."""
        mine, key_next = random.split(state.key)
        indices, inner = self.scheme.draw(mine, count, plates, state.inner)
        return indices, SharedState(key_next, inner)
