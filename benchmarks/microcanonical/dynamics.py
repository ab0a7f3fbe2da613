"""Microcanonical Langevin dynamics, which keep the length of the momentum."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from numpyro_sgmcmc import Splitting
from numpyro_sgmcmc.dynamics import AbstractDynamics
from numpyro_sgmcmc.pytree import as_pytree


@final
@as_pytree()
@dataclass(frozen=True)
class Microcanonical(AbstractDynamics):
    """Steps of dz = p dt, dp = -d / (d - 1) (I - p p' / d) grad U dt + noise, with p . p = d.

    These are microcanonical Langevin dynamics (Robnik and Seljak 2023,
    https://arxiv.org/abs/2303.18221) in units in which p has the mean square of a canonical
    momentum at T = 1, so that h and D compare with those of `Splitting`. The paper's direction is
    u = p / sqrt(d), its step size sqrt(d) h, and its decoherence length sqrt(d) / D. Each part is
    exact for a constant gradient g:

    1. drift: z <- z + p h / 2
    2. kick: with e = -g / |g|, b = sqrt(d) h |g| / (d - 1) and c = p . e / sqrt(d),
       p <- (p + sqrt(d) e (sinh b + c (cosh b - 1))) / (cosh b + c sinh b)
    3. drift: z <- z + p h / 2
    4. refresh: p <- exp(-D h) p + sqrt((1 - exp(-2 D h)) / h) dW, scaled to p . p = d

    The gradient is evaluated after the first drift. dW ~ N(0, h I), at T = 1 only. With exact
    gradients the bias is of second order in h. Noise of the gradient turns p and cannot heat all
    coordinates together: where it is the same in all of them it leaves no error of first order,
    where it differs the noisier coordinates are too wide and the others too narrow.

    Args:
        friction: D, in 1 / time.
    """

    friction: Any = None
    has_momentum: ClassVar[bool] = True
    has_friction: ClassVar[bool] = True
    bias_powers: ClassVar[tuple[int, int]] = (2, 4)

    def init(self, key: jax.Array, position: jax.Array, temperature: float) -> jax.Array:
        """Return a momentum of any direction."""
        return _to_length(jax.random.normal(key, position.shape, position.dtype))

    def lookahead(self, aux: jax.Array, step_size: jax.Array, position: jax.Array) -> jax.Array:
        """Return the first drift, p h / 2."""
        return 0.5 * step_size * aux

    def step(
        self, aux: jax.Array, gradient: jax.Array, increment: jax.Array, step_size: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """Return both drifts (h / 2) (p + kicked p), and p after the refreshment."""
        kicked = self._kicked(aux, gradient, step_size)
        kept = jnp.exp(-self.friction * step_size)
        noise = jnp.sqrt(-jnp.expm1(-2 * self.friction * step_size) / step_size) * increment
        return 0.5 * step_size * (aux + kicked), _to_length(kept * kicked + noise)

    def _kicked(self, aux: jax.Array, gradient: jax.Array, step_size: jax.Array) -> jax.Array:
        count = aux.size
        root = jnp.sqrt(jnp.asarray(count, aux.dtype))
        length = jnp.linalg.norm(gradient)
        ahead = -gradient / jnp.maximum(length, jnp.finfo(aux.dtype).tiny)
        angle = root * step_size * length / (count - 1)
        along = aux @ ahead / root
        # Both parts are divided by exp(b), which is too large for single precision from 88 on.
        back = jnp.exp(-2 * angle)
        sinh, cosh, one = (1 - back) / 2, (1 + back) / 2, jnp.exp(-angle)
        turned = one * aux + root * (sinh + along * (cosh - one)) * ahead
        return _to_length(turned / (cosh + along * sinh))

    def heating(self, noise: ArrayLike, step_size: ArrayLike) -> jax.Array:
        """Return that of `Splitting`, too much: noise that all coordinates share heats none."""
        return Splitting(self.friction).heating(noise, step_size)

    def largest_step_size(self, curvature: ArrayLike, tolerance: float) -> jax.Array:
        """Return that of `Splitting`, whose drifts and kicks are the same to leading order."""
        return Splitting(self.friction).largest_step_size(curvature, tolerance)

    def relaxation_steps(self, curvature: ArrayLike, step_size: ArrayLike) -> jax.Array:
        """Return that of `Splitting`."""
        return Splitting(self.friction).relaxation_steps(curvature, step_size)


def _to_length(momentum: jax.Array) -> jax.Array:
    """Return the momentum scaled to p . p = d."""
    return momentum * jnp.sqrt(momentum.size / (momentum @ momentum))
