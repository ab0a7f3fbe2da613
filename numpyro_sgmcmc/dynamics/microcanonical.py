"""Microcanonical Langevin dynamics, which keep the length of the momentum (SGMCLMC)."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, final

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.dynamics.base import AbstractDynamics
from numpyro_sgmcmc.dynamics.linear_microcanonical import LinearMicrocanonical
from numpyro_sgmcmc.pytree import as_pytree


class OfFixedLength(NamedTuple):
    """Momentum p (d,) and the temperature T (): p . p = d T."""

    momentum: jax.Array
    temperature: jax.Array


@final
@as_pytree()
@dataclass(frozen=True)
class Microcanonical(AbstractDynamics):
    """Steps of dz = p dt, dp = -d / (d - 1) (I - p p' / (d T)) grad U dt + noise, with p . p = d T.

    The noise turns p and keeps its length. These are microcanonical Langevin dynamics (Robnik and
    Seljak 2023, https://arxiv.org/abs/2303.18221), which leave exp(-U / T) invariant for d of 2 or
    more. Their p has the mean square of a canonical momentum, so that h and D compare with those of
    `Splitting`. The paper's direction is u = p / sqrt(d T), its step size sqrt(d) h at T = 1, and
    its decoherence length sqrt(d) / D.

    Update, in which each of the first three parts is exact for a constant gradient g:

    1. drift: z <- z + p h / 2
    2. kick: with r the length of g, e = -g / r, b = sqrt(d / T) h r / (d - 1) and
       c = p . e / sqrt(d T), p <- (p + sqrt(d T) e (sinh b + c (cosh b - 1))) / (cosh b + c sinh b)
    3. drift: z <- z + p h / 2
    4. refresh: p <- exp(-D h) p + sqrt((1 - exp(-2 D h)) / h) dW, scaled to p . p = d T

    The gradient is evaluated after the first drift, and dW ~ N(0, T h I). z, p, g and dW have shape
    (d,); h has the units of z, which is the unit of time.

    With exact gradients the bias is of second order in h, with even powers only: parts 1 to 3 are
    symmetric, and part 4 is a reversible chain of directions, which does not move z. On U =
    sum_i lambda_i z_i^2 / 2 the relative error of a variance is -h^2 (lambda_i / 4 - m / 12), to
    leading order in h and in 1 / d, with m the mean of the curvatures.

    Gradient noise turns p and cannot heat all directions together. Noise of variance V_i along
    direction i, of mean V, changes the variance of z along it by the factor

        (1 + h V_i / (2 D)) / (1 + h V / (2 D))

    to leading order, if d is large. Noise that all directions share leaves no error of first order.
    Where noise differs, the noisier directions are too wide and the others too narrow.

    Args:
        friction: D, in 1 / time. None lets the kernel choose.
    """

    friction: Any = None
    has_momentum: ClassVar[bool] = True
    can_optimise: ClassVar[bool] = False
    has_friction: ClassVar[bool] = True
    bias_powers: ClassVar[tuple[int, int]] = (2, 4)

    def init(self, key: jax.Array, position: jax.Array, temperature: float) -> OfFixedLength:
        """Return a momentum of uniform direction.

        Raises:
            ValueError: in fewer than two dimensions, where directions do not change continuously.
        """
        if position.size < 2:
            raise ValueError(
                "Expected at least two unconstrained parameters for microcanonical dynamics, whose"
                f" momentum moves on a sphere; got {position.size}. Use SGHMCSplit."
            )
        drawn = random.normal(key, position.shape, position.dtype)
        target = jnp.asarray(temperature, position.dtype)
        return OfFixedLength(_to_length(drawn, target), target)

    def lookahead(self, aux: OfFixedLength, step_size: jax.Array, position: jax.Array) -> jax.Array:
        """Return the first drift, p h / 2."""
        return 0.5 * step_size * aux.momentum

    def step(
        self, aux: OfFixedLength, gradient: jax.Array, increment: jax.Array, step_size: jax.Array
    ) -> tuple[jax.Array, OfFixedLength]:
        """Return both drifts (h / 2) (p + kicked p), and p after the refreshment."""
        kicked = _kicked(aux, gradient, step_size)
        refreshed = LinearMicrocanonical(self.friction).refreshed(kicked, increment, step_size)
        displacement = 0.5 * step_size * (aux.momentum + kicked)
        return displacement, aux._replace(momentum=_to_length(refreshed, aux.temperature))

    def heating(self, noise: ArrayLike, step_size: ArrayLike) -> jax.Array:
        """Return h V / (2 D), that of noise in a few of many directions."""
        return LinearMicrocanonical(self.friction).heating(noise, step_size)

    def linearised(self) -> LinearMicrocanonical:
        """Return `LinearMicrocanonical` with the same friction."""
        return LinearMicrocanonical(self.friction)

    def largest_step_size(self, curvature: ArrayLike, tolerance: float) -> jax.Array:
        """Return that of `LinearMicrocanonical`."""
        return LinearMicrocanonical(self.friction).largest_step_size(curvature, tolerance)

    def relaxation_steps(self, curvature: ArrayLike, step_size: ArrayLike) -> jax.Array:
        """Return that of `LinearMicrocanonical`."""
        return LinearMicrocanonical(self.friction).relaxation_steps(curvature, step_size)


def _kicked(aux: OfFixedLength, gradient: jax.Array, step_size: jax.Array) -> jax.Array:
    """Return p after step 2, by its angle t to e: tan(t / 2) is multiplied by exp(-b).

    This is the formula of step 2 without its cancellations, which in few dimensions divide zero by
    zero where p points away from e.
    """
    p = aux.momentum
    whole = jnp.sqrt(p.size * aux.temperature)
    length = jnp.linalg.norm(gradient)
    e = -gradient / jnp.maximum(length, jnp.finfo(p.dtype).tiny)
    b = p.size / whole * step_size * length / (p.size - 1)
    along = p @ e
    across = p - along * e
    size = jnp.maximum(jnp.linalg.norm(across), jnp.finfo(p.dtype).eps * whole)
    half = jnp.where(along > 0, size / (whole + along), (whole - along) / size)
    half = jnp.exp(-b) * half
    cosine, sine = (1 - half**2) / (1 + half**2), 2 * half / (1 + half**2)
    return whole * (cosine * e + sine / size * across)


def _to_length(momentum: jax.Array, temperature: jax.Array) -> jax.Array:
    """Return the momentum scaled to p . p = d T."""
    return momentum * jnp.sqrt(momentum.size * temperature / (momentum @ momentum))
