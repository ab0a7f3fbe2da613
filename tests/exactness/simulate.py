"""Many short chains of a kernel, straight through `sample`."""

from functools import partial

import jax
import jax.numpy as jnp


def simulate(kernel, args, *, chains, burn_in, draws, start, fields=("z",), seed=0):
    """Return the fields' site theta, each (chains, draws, d), from chains started at `start`."""
    keys = jax.random.split(jax.random.key(seed), chains)
    params = {"theta": jnp.asarray(start, jnp.float32)}
    state = kernel.init(keys, 0, params, args, {})

    @jax.jit
    def run(state, args):
        def collect(state, _):
            state = kernel.sample(state, args, {})
            return state, tuple(getattr(state, field)["theta"] for field in fields)

        # One loop for both phases: a step takes longer to compile than these draws to keep.
        return jax.lax.scan(collect, state, None, length=burn_in + draws)[1]

    return tuple(jnp.swapaxes(x[burn_in:], 0, 1) for x in run(state, args))


def around(mode, covariance, chains, seed=1):
    """Return draws of N(mode, covariance), (chains, d), near every stationary distribution."""
    normal = partial(jax.random.multivariate_normal, jax.random.key(seed))
    return normal(jnp.asarray(mode), jnp.asarray(covariance), (chains,))
