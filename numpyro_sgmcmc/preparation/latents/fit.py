"""A fit of many shared parameters, whose rows keep their latents."""

import jax
import jax.numpy as jnp
import optax

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.latents import PlainAtLatents
from numpyro_sgmcmc.preconditioner import Diagonal
from numpyro_sgmcmc.preparation.adam import adam_of_a_fit
from numpyro_sgmcmc.preparation.latents.noise import Walkers
from numpyro_sgmcmc.preparation.latents.settle import WALKERS
from numpyro_sgmcmc.preparation.latents.starts import Starts, starts_of
from numpyro_sgmcmc.preparation.latents.walkers import redrawn_walkers, started
from numpyro_sgmcmc.preparation.options import Options
from numpyro_sgmcmc.preparation.request import Request
from numpyro_sgmcmc.preparation.start_thresholds import FIT_STEPS, SMALLEST_SCALE
from numpyro_sgmcmc.preparation.target import Target, View

ROUNDS = 12
"""Rounds of the fit, after each of which the latents of all rows are drawn anew."""


def fitted(
    target: Target, key: jax.Array, options: Options, request: Request
) -> tuple[Diagonal, Starts]:
    """Return the scales of many shared parameters z, and where walkers start.

    Independent Gaussians m + s x are fitted to the marginal posterior of z. They minimise
    E U(m + s x, a) - sum log s, whose gradient in z is that of the marginal potential on average
    over x and latents a from p(a | z, y). A chain of latents stands for these: rows of a minibatch
    move when they are visited, at the z of that step, and all rows are drawn anew at z = m after
    each of some rounds. Walkers start at draws of the fit, so that symmetries of the model, such as
    labels of topics, are broken in the same way for all.

    Raises:
        ValueError: if no start is finite.
    """
    key_start, key_fit, key_draws, key_latents = random.keys_of(key, 4)
    walker = started(target, key_start, options, request, 1)
    optimizer_state = target.run(_begun, walker.positions[0])
    for key_round in random.keys_of(key_fit, ROUNDS):
        key_steps, key_all = random.keys_of(key_round, 2)
        carry = target.run(_round, key_steps, optimizer_state, walker, donate=(2,))
        optimizer_state, walker = carry
        walker = target.run(redrawn_walkers, key_all[None], walker, donate=(1,))
    (centre, log_scale), _ = optimizer_state
    scale = jnp.exp(log_scale)
    away = random.normal(key_draws, (WALKERS, centre.size), centre.dtype)
    walkers = target.run(_spread, walker, centre + scale * away)
    del walker
    keys = random.split(key_latents, WALKERS)
    walkers = target.run(redrawn_walkers, keys, walkers, donate=(1,))
    return Diagonal(scale), starts_of(walkers, 0)


def _begun(view: View, start: jax.Array) -> tuple:
    params = start, jnp.full_like(start, jnp.log(SMALLEST_SCALE))
    return params, adam_of_a_fit().init(params)


def _round(view: View, key: jax.Array, fit: tuple, walker: Walkers) -> tuple[tuple, Walkers]:
    """Return the fit after a round, and a walker at its centre, with leading axis 1."""
    optimizer, gradient = adam_of_a_fit(), PlainAtLatents()

    def body(carry: tuple, key: jax.Array) -> tuple[tuple, None]:
        params, state, latents = carry
        centre, log_scale = params
        key_batch, key_noise = random.split(key)
        away = jnp.exp(log_scale) * random.normal(key_noise, centre.shape, centre.dtype)
        minibatch = view.draw(key_batch)
        estimate, latents = gradient.estimate(view.potential, centre + away, minibatch, latents)
        slopes = estimate.gradient, estimate.gradient * away - 1
        update, state = optimizer.update(slopes, state, params)
        return (optax.apply_updates(params, update), state, latents), None

    latents = jax.tree.map(lambda x: x[0], walker.latents)
    steps = random.split(key, FIT_STEPS // ROUNDS)
    (params, state, latents), _ = jax.lax.scan(body, (*fit, latents), steps)
    after = jax.tree.map(lambda x: x[None], Walkers(params[0], latents))
    return (params, state), after


def _spread(view: View, walker: Walkers, positions: jax.Array) -> Walkers:
    """Return walkers at these positions with the latents of one."""
    count = len(positions)
    latents = jax.tree.map(lambda x: jnp.repeat(x, count, axis=0), walker.latents)
    return Walkers(positions, latents)
