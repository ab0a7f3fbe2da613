"""A fit of many shared parameters, whose rows keep their latents."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.latents import LatentState, PlainAtLatents
from numpyro_sgmcmc.preconditioner import Diagonal
from numpyro_sgmcmc.preparation.adam import adam_of_a_fit
from numpyro_sgmcmc.preparation.latents.noise import Walkers
from numpyro_sgmcmc.preparation.latents.recentring import Rows, in_coordinates, weights_of
from numpyro_sgmcmc.preparation.latents.settle import WALKERS
from numpyro_sgmcmc.preparation.latents.starts import Starts, starts_of
from numpyro_sgmcmc.preparation.latents.walkers import redrawn_walkers, started
from numpyro_sgmcmc.preparation.options import Options
from numpyro_sgmcmc.preparation.request import Request
from numpyro_sgmcmc.preparation.start_thresholds import FIT_STEPS, SMALLEST_SCALE
from numpyro_sgmcmc.preparation.target import Target, View

ROUNDS = 12
"""Rounds of the fit, after each of which the latents of all rows are drawn anew."""


class Fit(NamedTuple):
    """A fit of the shared parameters, and walkers that start from it.

    Attributes:
        linear: scales of the shared parameters.
        starts: of the walkers.
        weights: of the coordinates of latents of rows in which these are, by site, or None.
    """

    linear: Diagonal
    starts: Starts
    weights: dict[str, jax.Array] | None


def fitted(target: Target, key: jax.Array, options: Options, request: Request) -> Fit:
    """Return the scales of many shared parameters z, and where walkers start.

    Independent Gaussians m + s x are fitted to the marginal posterior of z. They minimise
    E U(m + s x, a) - sum log s, whose gradient in z is that of the marginal potential on average
    over x and latents a from p(a | z, y). A chain of latents stands for these: rows of a minibatch
    move when they are visited, at the z of that step, and all rows are drawn anew at z = m after
    each of some rounds. Walkers start at draws of the fit, so that symmetries of the model, such as
    labels of topics, are broken in the same way for all. The latents have the form that suits the
    walkers (`weights_of`).

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
    numbers, state = jnp.arange(len(walkers.latents.values[0])), walkers.latents
    parts = zip(walkers.positions, state.values, state.factor, strict=True)
    each = [Rows(*part, numbers) for part in parts]
    weights = weights_of(target, options, each)
    if weights is not None:
        values = [in_coordinates(target, rows, weights) for rows in each]
        walkers = Walkers(walkers.positions, _with_values(state, jnp.stack(values)))
        keys = random.keys_of(jax.random.key(10), WALKERS)
        placed = target.partly_centred(weights)
        walkers = placed.run(redrawn_walkers, jnp.stack(keys), walkers, donate=(1,))
    return Fit(Diagonal(scale), starts_of(walkers, 0), weights)


def _with_values(states: LatentState, values: jax.Array) -> LatentState:
    return jax.vmap(lambda state, own: state.having(values=own))(states, values)


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
