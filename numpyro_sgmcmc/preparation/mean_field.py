"""The mean-field normal approximation, in coordinates of effects that are fitted with it."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.preconditioner import Diagonal
from numpyro_sgmcmc.preparation.adam import adam_of_a_fit
from numpyro_sgmcmc.preparation.approximation import Approximation
from numpyro_sgmcmc.preparation.divergence import divergence, draws_in
from numpyro_sgmcmc.preparation.start_thresholds import FIT_STEPS, SMALLEST_SCALE
from numpyro_sgmcmc.preparation.tails import check_tails
from numpyro_sgmcmc.preparation.target import Target, View


class Fit(NamedTuple):
    """Independent Gaussians, and the coordinates that they are for.

    Attributes:
        approximation: the Gaussians.
        centring: weights of the coordinates of effects, by site; None if effects are as in the
            model.
    """

    approximation: Approximation
    centring: dict[str, jax.Array] | None


class _Params(NamedTuple):
    centre: jax.Array
    log_scale: jax.Array
    logits: dict[str, jax.Array] | None

    @property
    def weights(self) -> dict[str, jax.Array] | None:
        return jax.tree.map(jax.nn.sigmoid, self.logits)


def mean_field(
    target: Target,
    key: jax.Array,
    start: jax.Array,
    effects: tuple[str, ...] = (),
    units: jax.Array | None = None,
) -> Fit:
    """Return the independent Gaussians of least reverse Kullback-Leibler divergence.

    Minimises E U(m + s x) - sum log s with Adam; the mean is over minibatches and x ~ N(0, I).
    NumPyro's `SVI` is not used, because its subsampled plate costs O(N) at each step.

    With `effects` the weights of their `Coordinates` are fitted too, because the divergence is
    least where these sites depend least on their scales (Gorinova, Moore and Hoffman 2020,
    "Automatic Reparameterisation of Probabilistic Programs").

    Args:
        target: the model bound to its data.
        key: of minibatches and noise.
        start: where the means start, (d,), in the coordinates of the model.
        effects: sites of effects whose coordinates are fitted.
        units: of each coordinate, (d,), in which Adam's steps are taken; 1 if None. Not together
            with `effects`, whose coordinates change their units.

    Raises:
        ValueError: if the density has no finite integral along a coordinate.
    """
    logits = {name: jnp.zeros_like(target.structure.prototype[name]) for name in effects}
    centre, scale, weights = target.run(_fit, key, start, logits or None, units)
    check_tails(target.partly_centred(weights), centre, scale)
    return Fit(Approximation(centre, Diagonal(scale)), weights)


def _fit(
    view: View,
    key: jax.Array,
    start: jax.Array,
    logits: dict[str, jax.Array] | None,
    units: jax.Array | None,
) -> tuple[jax.Array, jax.Array, Any]:
    optimizer = adam_of_a_fit()
    draws = draws_in(start.size)

    def in_the_model(centre: jax.Array) -> jax.Array:
        return centre if units is None else start + units * centre

    def log_scales(log_scale: jax.Array) -> jax.Array:
        return log_scale if units is None else log_scale + jnp.log(units)

    def loss(params: _Params, key: jax.Array) -> jax.Array:
        placed = view.partly_centred(params.weights)
        centre, log_scale = in_the_model(params.centre), log_scales(params.log_scale)
        return divergence(placed, centre, log_scale, key, draws)

    def body(carry: tuple, key: jax.Array) -> tuple[tuple, None]:
        params, state = carry
        gradient: Any = jax.grad(loss)(params, key)
        update, state = optimizer.update(gradient, state, params)
        return (optax.apply_updates(params, update), state), None

    first_centre = start if units is None else jnp.zeros_like(start)
    params = _Params(first_centre, jnp.full_like(start, jnp.log(SMALLEST_SCALE)), logits)
    if logits is not None:
        values, placed = view.structure.unravel(start), view.partly_centred(params.weights)
        params = params._replace(centre=placed.structure.ravel(values))
    first: Any = params
    carry = (first, optimizer.init(first))
    (params, _), _ = jax.lax.scan(body, carry, random.split(key, FIT_STEPS))
    scale = jnp.exp(log_scales(params.log_scale))
    return in_the_model(params.centre), scale, params.weights
