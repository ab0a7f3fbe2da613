"""One step of a kernel on a Gaussian as matrices, and sums over all steps before."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from numpyro_sgmcmc.cpu.compiling import compiler_options
from numpyro_sgmcmc.dynamics import AbstractDynamics

DOUBLINGS = 60
"""Squarings of a recursion's matrix; 2^60 transitions forget a start that any number of draws
would."""


class Matrices(NamedTuple):
    """x <- free x + kick g + heat dW, with g the gradient at a query `look` x, for n directions.

    The shapes are (n, size, size), (n, size), (n, size, k) for k increments, and (n, size).
    """

    free: np.ndarray
    kick: np.ndarray
    heat: np.ndarray
    look: np.ndarray


def matrices(dynamics: AbstractDynamics, step_size: float, damping: np.ndarray) -> Matrices:
    """Return the matrices of a step, as derivatives of the dynamics' own; damping is (n,)."""
    is_damped = bool(np.any(damping))
    real: Any = jax.dtypes.canonicalize_dtype(np.float64)
    # Without damping all directions have the same matrices, and all calls the same program.
    each = np.asarray(damping if is_damped else np.zeros(1), real)
    found = _program()(dynamics, np.asarray(step_size, real), each, is_damped=is_damped)
    entries = (np.asarray(x, np.float64) for x in found)
    return Matrices(*(np.broadcast_to(x, (len(damping), *x.shape[1:])) for x in entries))


@cache
def _program() -> Callable[..., Any]:
    # Compiled as a whole, because compiling each operation alone takes longer.
    options = compiler_options(1, optimise=False)
    return jax.jit(_derivatives, static_argnames="is_damped", compiler_options=options)


def _derivatives(
    dynamics: AbstractDynamics, h: jax.Array, damping: jax.Array, is_damped: bool
) -> tuple[jax.Array, ...]:
    """Return the entries of `Matrices` from the dynamics' own step; damping is (n,)."""
    zero = jnp.zeros(1)
    aux = jax.eval_shape(lambda: dynamics.init(jax.random.key(0), zero, 1.0))
    aux = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), aux)
    flat, unravel = ravel_pytree(aux)

    def step(x: jax.Array, gradient: jax.Array, increment: jax.Array, damping: jax.Array) -> Any:
        given: Any = dynamics
        damped = replace(given, compensation=damping) if is_damped else given
        z, now = x[:1], unravel(x[1:])
        moved, then = damped.step(now, gradient, increment, h)
        query = z + damped.lookahead(now, h, z)
        return jnp.concatenate([z + moved, ravel_pytree(then)[0]]), query

    start = jnp.zeros(1 + flat.size)
    count = dynamics.increments_per_step
    still = zero if count == 1 else jnp.zeros((count, 1))
    each = partial(jax.jacfwd(step, argnums=(0, 1, 2)), start, zero, still)
    (free, kick, heat), (look, _, _) = jax.vmap(each)(damping)
    return free, kick[..., 0], heat.reshape(*heat.shape[:2], count), look[:, 0]


def summed(a: np.ndarray, added: np.ndarray) -> np.ndarray:
    """Return the sum of A^k Q A'^k over all k, which solves M = A M A' + Q."""
    total, power = added, a
    for _ in range(DOUBLINGS):
        more = power @ total @ power.transpose(0, 2, 1)
        total = total + more
        if np.abs(more).max(initial=0.0) <= 1e-15 * np.abs(total).max(initial=0.0):
            break
        power = power @ power
    return total


def outer(x: np.ndarray) -> np.ndarray:
    """Return x x' for each vector, (n, size, size)."""
    return x[:, :, None] * x[:, None, :]
