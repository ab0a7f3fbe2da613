"""Control variates centred at a fixed point."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.gradient.base import AbstractGradient, Anchor, Estimate
from numpyro_sgmcmc.pytree import as_pytree
from numpyro_sgmcmc.types import Minibatch, StochasticPotential, WholeData


@final
@as_pytree()
@dataclass(frozen=True, eq=False)
class FixedPoint(AbstractGradient):
    """The minibatch gradient minus its error at an anchor a.

    Estimates grad U(z) by grad U_S(z) - grad U_S(a) + grad U(a), and U in the same way. Equation 5
    of Brosse, Durmus and Moulines (2018, https://arxiv.org/abs/1811.10072) is the case
    grad U(a) = 0. Here a need not be the mode, and the estimate is unbiased for every a. The noise
    is zero at z = a and grows with the distance from a.

    Args:
        anchor: unconstrained values by site name. None searches for a mode.

    Raises:
        TypeError: if `anchor` is not a dict.
    """

    anchor: dict[str, Any] | None = None
    needs_anchor: ClassVar[bool] = True
    is_control_variate: ClassVar[bool] = True
    has_constant_state: ClassVar[bool] = True
    can_be_remote: ClassVar[bool] = True
    gradients_per_step: ClassVar[int] = 2

    def __post_init__(self) -> None:
        if self.anchor is not None and not isinstance(self.anchor, dict):
            raise TypeError(
                "Expected `anchor` to be a dict of unconstrained values by site name, or None to"
                f" find one; got {type(self.anchor).__name__}."
            )

    def __eq__(self, other: object) -> bool:
        """Return whether the anchors are the same object; their arrays are not compared."""
        return isinstance(other, FixedPoint) and self.anchor is other.anchor

    def __hash__(self) -> int:
        """Return a hash that agrees with equality."""
        return hash((FixedPoint, id(self.anchor)))

    def init(self, whole: WholeData, position: jax.Array, anchor: Anchor | None) -> Anchor:
        """Return the anchor, which never changes."""
        assert anchor is not None
        return anchor

    def estimate(
        self,
        potential: StochasticPotential,
        position: jax.Array,
        minibatch: Minibatch,
        state: Anchor,
    ) -> tuple[Estimate, Anchor]:
        """Return the estimate; the anchor is unchanged."""
        return controlled_estimate(potential, position, minibatch, state), state


def controlled_estimate(
    potential: StochasticPotential, position: jax.Array, minibatch: Minibatch, anchor: Anchor
) -> Estimate:
    """Return estimates of U and grad U at a position, minus the minibatch's error at the anchor.

    Both positions are evaluated in one batched pass.
    """
    positions = jnp.stack([position, anchor.position])
    value_and_grad = jax.vmap(jax.value_and_grad(potential), in_axes=(0, None))
    values, gradients = value_and_grad(positions, minibatch)
    return Estimate(
        values[0] - values[1] + anchor.potential_energy,
        gradients[0] - gradients[1] + anchor.gradient,
    )
