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
    """Vectorised chains all see the same minibatch, drawn by another scheme.

    Its rows are gathered once, and products with them are products of matrices: with hundreds of
    chains a step costs a fraction of what it costs with a minibatch for each.

    Each chain's distribution is what it would be by itself, but the chains are not independent:
    they share their gradient noise. Where that stands for the share s of a draw's variance
    (Langevin dynamics with additive noise: s = h V / (2 + h V)), two chains are correlated by s,
    and a mean over C chains has the variance of C / (1 + (C - 1) s) independent ones. R-hat
    compares the spread between chains with that within them: a spread too small by the factor 1 - s
    hides what has not converged, and ArviZ's effective sample sizes are too large by up to 1 + (C -
    1) s. So share only where the noise is small: `FixedPoint()`, or the step size that a warm-up
    chooses, where s is at most 0.05, or 0.3 under a noise correction. `diagnose` takes what chains
    share off the effective sample sizes.

    Chains that run one after another, or on several devices, share nothing.

    Args:
        scheme: draws the minibatch.
    """

    scheme: AbstractMinibatch = UniformMinibatch()  # noqa: RUF009 - immutable
    is_shared: ClassVar[bool] = True

    @property
    def is_independent(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether a minibatch says nothing of the next."""
        return self.scheme.is_independent

    @property
    def is_contiguous(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether rows are r, r + 1, ..., from the last on to the first."""
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
