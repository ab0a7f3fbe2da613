"""A gradient estimate at a position that is some transitions old."""

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.gradient import AbstractGradient, Anchor, Estimate
from numpyro_sgmcmc.pytree import as_pytree
from numpyro_sgmcmc.staleness.remedy import CurvatureRemedy
from numpyro_sgmcmc.types import Minibatch, Plate, StochasticPotential, WholeData


class Past(NamedTuple):
    """The points at which the last transitions needed their gradients.

    Attributes:
        points: a ring of m + 1 flat positions, (m + 1, d).
        place: where the next point goes, ().
        known: how many of the older points there are, at most m, ().
    """

    points: jax.Array
    place: jax.Array
    known: jax.Array


class StaleState(NamedTuple):
    """The state of the estimator whose estimates are old, and the points."""

    inner: Any
    past: Past


def no_past(position: jax.Array, largest: int) -> Past:
    """Return an empty ring for points of at most this age."""
    zero = jnp.zeros((), jnp.int32)
    return Past(jnp.zeros((largest + 1, *position.shape), position.dtype), zero, zero)


@final
@as_pytree()
@dataclass(frozen=True)
class StaleEstimate(AbstractGradient):
    """The estimate of `inner` at the point of an earlier transition.

    With q_l the point at which transition l needs its gradient, and k the age of the minibatch S,

        g = grad U_S(q_(l - k))                                        without correction,
        g = grad U_S(q_(l - k)) + H (q_l - q_(l - k))                  with a curvature H,

    Chen, Ding, Li, Zhang and Carin (2016), https://arxiv.org/abs/1610.06664, equation 3; H is ours.
    Before transition k the first point is used, which is what workers would have been sent.

    Args:
        inner: the estimator.
        remedy: H, or None.
    """

    inner: AbstractGradient
    remedy: CurvatureRemedy | None

    def init(self, whole: WholeData, position: jax.Array, anchor: Anchor | None) -> Any:
        """Raise an error: the ring's length is known to the kernel only."""
        raise NotImplementedError("Expected a state that was made by StaleGradient.")

    def estimate(
        self,
        potential: StochasticPotential,
        position: jax.Array,
        minibatch: Minibatch,
        state: StaleState,
    ) -> tuple[Estimate, StaleState]:
        """Return the estimate from a point as old as the minibatch says, and the next state."""
        past, size = state.past, len(state.past.points)
        # A refused step leaves the ring as it is, so that it must not hold what is not finite.
        sound = jnp.where(jnp.all(jnp.isfinite(position)), position, past.points[past.place - 1])
        points = past.points.at[past.place].set(sound)
        then = points[(past.place - age_of(minibatch, past)) % size]
        # What the estimator computes must not depend on whether the point is old.
        fresh = minibatch._replace(age=None)
        estimate, inner = self.inner.estimate(potential, then, fresh, state.inner)
        if self.remedy is not None:
            change = self.remedy.product(position - then)
            estimate = estimate._replace(gradient=estimate.gradient + change)
        known = jnp.minimum(past.known + 1, size - 1)
        return estimate, StaleState(inner, Past(points, (past.place + 1) % size, known))

    def renewal_period(self, plates: dict[str, Plate]) -> int | None:
        """Return the period of the estimator itself."""
        return self.inner.renewal_period(plates)


def age_of(minibatch: Minibatch, past: Past) -> jax.Array:
    """Return the age of the point that is used, which no walker's first point exceeds."""
    assert minibatch.age is not None
    return jnp.minimum(minibatch.age, past.known)
