"""The Gaussian model of the exactness tests, and how its kernels are run."""

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.infer import MCMC

from tests.oracles import linear
from tests.oracles.recursion import DYNAMICS

CHAINS = 400
BATCH = 4
SCALE = np.array([1.0, 0.7])
FRICTION = 7.0
FACTOR = np.array([[0.4, 0.0], [0.15, 0.2]])
"""A dense preconditioner that whitens nothing in particular."""


def additive_data(rows=20, seed=0):
    """Rows that share one X_i: Hessian not diagonal, gradient noise correlated and additive."""
    rng = np.random.default_rng(seed)
    design = np.broadcast_to(np.array([[1.0, 0.5], [0.0, 0.8]]), (rows, 2, 2)).copy()
    y = rng.normal(size=(rows, 2)) @ np.array([[1.0, 0.6], [0.0, 0.9]]) + np.array([1.0, -0.5])
    return design, y, SCALE


def varying_data(rows=12, seed=1):
    """Rows whose X_i differ: the gradient noise depends on the position."""
    rng = np.random.default_rng(seed)
    design = rng.normal(size=(rows, 1, 2)) + np.array([0.4, 0.0])
    y = design @ np.array([1.0, -0.7]) + rng.normal(size=(rows, 1))
    return design, y, np.ones(1)


def recursion(entry, s=None, friction=FRICTION):
    """Return h -> the matrices of the entry's dynamics."""
    s = np.eye(2) if s is None else s
    return lambda h: DYNAMICS[entry.dynamics](h, s, friction)


def run(kernel, data, batch, *, key, chains=CHAINS, warmup=250, samples=250, fields=()):
    """Run vectorised chains from the mode; return (chains, samples, k) for z and each field."""
    mode = linear.posterior(*data).mode
    mcmc = MCMC(
        kernel,
        num_warmup=warmup,
        num_samples=samples,
        num_chains=chains,
        chain_method="vectorized",
        progress_bar=False,
    )
    start = {"theta": jnp.broadcast_to(jnp.asarray(mode, jnp.float32), (chains, len(mode)))}
    arrays = [jnp.asarray(x, jnp.float32) for x in data]
    mcmc.run(jax.random.key(key), *arrays, batch, init_params=start, extra_fields=fields)
    extra = mcmc.get_extra_fields(group_by_chain=True)
    assert not extra["diverging"].any()
    flat = {"z": mcmc.get_samples(group_by_chain=True)["theta"]} | extra
    flat = {name: x["theta"] if isinstance(x, dict) else x for name, x in flat.items()}
    return jax.tree.map(lambda x: np.asarray(x, np.float64), flat)
