"""Functions of U that are linear in it, for a minibatch: a pass over all rows adds them up."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.preparation.thresholds import HESSIAN_COLUMNS
from numpyro_sgmcmc.types import Minibatch


def potentials(view: Any, minibatch: Minibatch, points: jax.Array) -> jax.Array:
    """Return estimates of U at points (k, d), shape (k,)."""
    return jax.vmap(lambda z: view.potential(z, minibatch))(points)


def value_and_grad(view: Any, minibatch: Minibatch, position: jax.Array) -> Any:
    """Return estimates of U and grad U."""
    return jax.value_and_grad(view.potential)(position, minibatch)


def hessian_product(
    view: Any, minibatch: Minibatch, position: jax.Array, vector: jax.Array
) -> jax.Array:
    """Return the estimate of H v."""
    gradient = partial(jax.grad(view.potential), minibatch=minibatch)
    return jax.jvp(gradient, (position,), (vector,))[1]


def second_order(
    view: Any, minibatch: Minibatch, position: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return estimates of U, grad U and the Hessian (d, d), which is not symmetrised."""
    both = partial(jax.value_and_grad(view.potential), minibatch=minibatch)
    (value, gradient), pushforward = jax.linearize(both, position)
    basis = jnp.eye(position.size, dtype=position.dtype)
    column = lambda vector: pushforward(vector)[1]  # noqa: E731
    return value, gradient, jax.lax.map(column, basis, batch_size=HESSIAN_COLUMNS)


def restricted_hessian(
    view: Any, minibatch: Minibatch, centre: jax.Array, scale: jax.Array, subspace: Any
) -> jax.Array:
    """Return the estimate of P' D H D P at the centre, (r, r), for D = diag(scale)."""
    gradient = lambda z: jax.grad(view.potential)(z, minibatch)  # noqa: E731
    _, pushforward = jax.linearize(gradient, centre)

    def column(direction: jax.Array) -> jax.Array:
        moved = pushforward(scale * subspace.vector(direction))
        return subspace.coordinates(scale * moved)

    basis = jnp.eye(subspace.size, dtype=centre.dtype)
    return jax.lax.map(column, basis, batch_size=HESSIAN_COLUMNS)
