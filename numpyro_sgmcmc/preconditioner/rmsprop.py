"""A diagonal preconditioner from running means of squared gradients, with its divergence term."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple, final

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.checks import check_number
from numpyro_sgmcmc.preconditioner.base import AbstractPreconditioner
from numpyro_sgmcmc.preconditioner.linear import Diagonal
from numpyro_sgmcmc.pytree import as_pytree
from numpyro_sgmcmc.types import Minibatch, StochasticPotential


class Squares(NamedTuple):
    """Running sums of a walker.

    Attributes:
        square: of the squared gradients, (d,).
        slope: of the derivatives of the squared gradients with respect to the position, (d,).
        weight: of ones, (), which is 1 - decay^n after n gradients.
        temperature: T, ().
    """

    square: jax.Array
    slope: jax.Array
    weight: jax.Array
    temperature: jax.Array


@final
@as_pytree(static=("decay", "damping"))
@dataclass(frozen=True)
class RMSProp(AbstractPreconditioner):
    """S = diag(G)^(1/2), G = w / (damping + sqrt(V / w)), V a running sum of squared gradients.

    For Langevin dynamics (Li, Chen, Carlson and Carin 2016, "Preconditioned Stochastic Gradient
    Langevin Dynamics for Deep Neural Networks", https://arxiv.org/abs/1512.07666): dz = -G grad U
    dt + T div G dt + sqrt(2 T G) dW. With decay a, and g the gradient estimate,

        V <- a V + (1 - a) g^2,    W <- a W + (1 - a) 2 g diag(grad g),    w <- a w + (1 - a),
        T div G = T dG/dV W = -T W / (2 sqrt(V / w) (damping + sqrt(V / w))^2).

    All start at 0, so w = 1 - a^n after n gradients, and V / w is their mean square without the
    bias of the start. G increases with w to its full size over about 1 / (1 - a) transitions. The
    first transition, before there is a gradient, does not move the walker. The next ones move it
    little, because a mean of few squares may be small by chance. (With V = 0 and without w, the
    first steps would be the largest, with G = 1 / damping.) After that w is 1, so the stationary
    distribution does not depend on it.

    W is dV / dz for a walker at rest. v (H_S v) is an unbiased estimate of diag(grad g), where v
    are the signs of the step's Brownian increment. (Products of two signs are even in the increment
    and the displacement is odd, so reusing the increment causes no correlation of first order.)

    The bias is of first order in h at a fixed decay. V follows z with a lag of about h / (1 - a),
    which must be short compared with the relaxation time. Without the drift the distribution is
    wrong for every h, because G depends on z: the variance of a standard normal becomes 1.2. A step
    uses V and W without its own gradient (Li et al. update them first), because G and g of one
    minibatch are correlated.

    A step costs one Hessian-vector product. h has the units of z squared times those of a gradient.

    Args:
        decay: a in [0, 1); alpha in the paper.
        damping: lambda > 0 in the paper, in units of the gradient of U. G is at most 1 / damping.

    Raises:
        TypeError: if an argument is not a number.
        ValueError: if an argument is out of range.
    """

    decay: float = 0.99
    damping: float = 1.0
    is_constant: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_number("decay", self.decay, allow_zero=True)
        if self.decay >= 1:
            raise ValueError(f"Expected `decay` to be below 1; got {self.decay}. Use 0.99.")
        check_number("damping", self.damping)

    def init(self, position: jax.Array, temperature: float) -> Squares:
        """Return V = W = w = 0, so that the first step does not move the walker."""
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
        """Return the running sums with this gradient included."""
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
