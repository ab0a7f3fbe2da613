"""A diagonal preconditioner from running squares of the gradient, with its divergence term."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple, final

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.checks import check_number
from numpyro_sgmcmc.preconditioner.base import AbstractPreconditioner
from numpyro_sgmcmc.preconditioner.linear import Diagonal
from numpyro_sgmcmc.types import Minibatch, StochasticPotential


class Squares(NamedTuple):
    """Running sums of a walker.

    Attributes:
        square: of the squared gradients, (d,).
        slope: of their derivative with respect to the position, (d,).
        weight: of ones, (): 1 - decay^n after n gradients.
        temperature: T, ().
    """

    square: jax.Array
    slope: jax.Array
    weight: jax.Array
    temperature: jax.Array


@final
@partial(jax.tree_util.register_dataclass, data_fields=[], meta_fields=["decay", "damping"])
@dataclass(frozen=True)
class RMSProp(AbstractPreconditioner):
    """S = diag(G)^(1/2), G = w / (damping + sqrt(V / w)), V a running sum of squared gradients.

    For Langevin dynamics (Li et al. 2016, "Preconditioned stochastic gradient Langevin dynamics for
    deep neural networks"): dz = -G grad U dt + T div G dt + sqrt(2 T G) dW. With decay a, and g the
    gradient estimate,

        V <- a V + (1 - a) g^2,    W <- a W + (1 - a) 2 g diag(grad g),    w <- a w + (1 - a),
        T div G = T dG/dV W = -T W / (2 sqrt(V / w) (damping + sqrt(V / w))^2).

    All start at 0, so w = 1 - a^n after n gradients, and V / w is their mean square without the
    bias of the start. G grows with w to its full size over about 1 / (1 - a) transitions: the first
    one, before there is a gradient, does not move, and those after it, where a mean of few squares
    may be small by chance, move little. (V = 0 without w makes the first steps the largest of all,
    1 / damping.) Then w is 1, and the stationary distribution does not depend on it.

    W is dV / dz for a walker that stays where it is, and diag(grad g) is estimated without bias by
    v (H_S v), with v the signs of the step's Brownian increment. (Their second moments are even in
    the increment and the displacement is odd, so reusing it leaves no correlation of first order.)

    First order in h at a fixed decay: V follows z with a lag of about h / (1 - a), which must be
    short beside the walker's relaxation. Without the drift the distribution is wrong however small
    h is, as G depends on z: the variance of a standard normal comes out at 1.2. V and W enter a
    step before its own gradient does (Li et al. update first), as G and g of one minibatch are
    correlated.

    Costs one Hessian-vector product a step. h has the units of z squared times a gradient's.

    Args:
        decay: a in [0, 1).
        damping: lambda > 0, in units of the gradient of U; bounds G by 1 / damping.

    Raises:
        TypeError: where an argument is no number.
        ValueError: where one is out of range.
    """

    decay: float = 0.99
    damping: float = 1.0
    is_constant: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_number("decay", self.decay, allow_zero=True)
        if self.decay >= 1:
            raise ValueError(f"Expected `decay` to be below 1; got {self.decay}.")
        check_number("damping", self.damping)

    def init(self, position: jax.Array, temperature: float) -> Squares:
        """Return V = W = w = 0: without a gradient there is no step."""
        zero = jnp.zeros_like(position)
        nothing = jnp.zeros((), position.dtype)
        return Squares(zero, zero, nothing, jnp.asarray(temperature, position.dtype))

    def at(self, state: Squares) -> Diagonal:
        """Return diag(G)^(1/2)."""
        return Diagonal(jnp.sqrt(state.weight / (self.damping + _root_mean_square(state))))

    def drift(self, state: Squares) -> jax.Array:
        """Return T div G."""
        root = _root_mean_square(state)
        tiny = jnp.finfo(root.dtype).tiny
        inverse = jnp.where(root > 0, 1.0 / jnp.maximum(root, tiny), 0.0)
        return -state.temperature * state.slope * inverse / (2.0 * (self.damping + root) ** 2)

    def update(
        self,
        state: Squares,
        potential: StochasticPotential,
        position: jax.Array,
        minibatch: Minibatch,
        gradient: jax.Array,
        increment: jax.Array,
    ) -> Squares:
        """Return the running means with this gradient in them."""
        signs = jnp.where(increment < 0, -1.0, 1.0).astype(position.dtype)
        slope_of = jax.grad(partial(_at, potential, minibatch))
        diagonal = signs * jax.jvp(slope_of, (position,), (signs,))[1]
        keep, add = self.decay, 1.0 - self.decay
        return Squares(
            keep * state.square + add * gradient**2,
            keep * state.slope + add * 2.0 * gradient * diagonal,
            keep * state.weight + add,
            state.temperature,
        )


def _at(potential: StochasticPotential, minibatch: Minibatch, position: jax.Array) -> jax.Array:
    return potential(position, minibatch)


def _root_mean_square(state: Squares) -> jax.Array:
    tiny = jnp.finfo(state.weight.dtype).tiny
    return jnp.sqrt(state.square / jnp.maximum(state.weight, tiny))
