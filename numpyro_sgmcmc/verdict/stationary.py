"""A kernel's stationary variance on a Gaussian, from its own linear recursion."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from numpyro_sgmcmc.dynamics import AbstractDynamics

RESOLVED = 1e-4
"""Distance from 1 at which an eigenvalue's rounding changes the relative variance by 1e-3."""

SOFT = 1e-2
"""Largest h lambda and h^2 lambda of a direction whose curvature is raised: beyond, the relative
variance is not near its limit, and an eigenvalue of 1 says that the recursion does not settle."""


def relative_variance(
    dynamics: AbstractDynamics,
    step_size: float,
    curvature: np.ndarray,
    noise: np.ndarray,
    corrected: np.ndarray,
) -> np.ndarray:
    """Return the stationary variance over the exact one, 1 / curvature, direction by direction.

    In a direction of curvature lambda a step is affine in the state x = (z, auxiliary variables):
    x <- A x + b dW + c e with dW ~ N(0, h (1 - s)) and gradient noise e ~ N(0, V), so its
    covariance solves M = A M A' + h (1 - s) b b' + V c c'. A, b and c are derivatives of the
    dynamics' own step. s is the share that a noise correction takes out.

    In single precision an eigenvalue of A within 1e-7 of 1 says nothing of lambda. A direction with
    an eigenvalue nearer to 1 than RESOLVED is given a larger curvature: as h lambda falls, the
    relative variance tends to a limit, and it is then within about RESOLVED of it.

    Args:
        dynamics: linear in auxiliary variables, gradient and increment.
        step_size: h.
        curvature: lambda, (d,), in the preconditioner's coordinates, at T = 1.
        noise: V along each direction, (d,).
        corrected: V that the correction knows of, (d,); zeros without.

    Returns:
        Shape (d,); infinite where the recursion does not settle.
    """
    h, curvature = jnp.asarray(step_size), np.array(curvature, np.float64)
    while True:
        derivatives = _derivatives(dynamics, h, jnp.asarray(curvature, jnp.zeros(()).dtype))
        a, b, c = (np.asarray(x, np.float64) for x in derivatives)
        slow = (np.abs(np.linalg.eigvals(a) - 1) < RESOLVED).any(1)
        slow &= (curvature > 0) & (max(step_size, step_size**2) * curvature < SOFT)
        if not slow.any():
            break
        curvature[slow] *= 4
    share = np.clip(np.asarray(dynamics.heating(jnp.asarray(corrected), h), np.float64), 0.0, 1.0)
    size = a.shape[1]
    operator = np.einsum("nij,nkl->nikjl", a, a).reshape(-1, size**2, size**2)
    added = (
        (float(step_size) * (1 - share))[:, None, None] * b @ b.transpose(0, 2, 1)
        + np.asarray(noise, np.float64)[:, None, None] * c @ c.transpose(0, 2, 1)
    )  # fmt: skip
    settles = np.abs(np.linalg.eigvals(a)).max(1) < 1
    operator[~settles] = 0.0
    eye = np.eye(size**2)
    second = np.linalg.solve(eye - operator, added.reshape(-1, size**2, 1))[:, 0, 0]
    return np.where(settles, second * curvature, np.inf)


# Compiled as a whole, because compiling each operation alone takes longer.
@jax.jit
def _derivatives(
    dynamics: AbstractDynamics, h: jax.Array, curvature: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return A, b and c of a step for each curvature, (d, n, n) and twice (d, n, 1)."""
    zero = jnp.zeros(1)
    aux = jax.eval_shape(lambda: dynamics.init(jax.random.key(0), zero, 1.0))
    aux = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), aux)
    flat, unravel = ravel_pytree(aux)

    def step(x: jax.Array, increment: jax.Array, error: jax.Array, curve: jax.Array) -> jax.Array:
        z, now = x[:1], unravel(x[1:])
        query = z + dynamics.lookahead(now, h, z)
        moved, then = dynamics.step(now, curve * query + error, increment, h)
        return jnp.concatenate([z + moved, ravel_pytree(then)[0]])

    start = jnp.zeros(1 + flat.size)
    return jax.vmap(partial(jax.jacfwd(step, argnums=(0, 1, 2)), start, zero, zero))(curvature)
