"""The model and data of the contract tests, and short runs of any kernel on them."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC

from tests.registry import KERNELS, make

ROWS, BATCH = 48, 6
NAMES = list(KERNELS)
BASES = [name for name, entry in KERNELS.items() if not entry.pair]
SOME = ["SGLD", "SGHMCSplit(FixedPoint)", "RichardsonRomberg(SGHMCSplit)"]
"""For what does not depend on the dynamics: either kind of gradient, and of kernel."""

DISTINCT = [*SOME, "SGHMC", "UBU", "SGNHT", "SGMCLMC", "SVRGLD", "SAGALD"]
"""Each dynamics, each gradient estimator and a pair: the other kernels combine these."""

PAIRS = [name for name, entry in KERNELS.items() if entry.pair]
WARMUP, SAMPLES = 3, 6


def model(x, y=None):
    """A regression with unknown noise: a vector site, a constrained one, a deterministic one."""
    w = numpyro.sample("w", dist.Normal(0.0, 1.0).expand([2]).to_event(1))
    sigma = numpyro.sample("sigma", dist.HalfNormal(2.0))
    numpyro.deterministic("signal", w / sigma)
    with numpyro.plate("rows", x.shape[0], subsample_size=BATCH) as rows:
        numpyro.sample("y", dist.Normal(x[rows] @ w, sigma), obs=y[rows])


@cache
def data(seed=0):
    """Rows near y = x (1, -0.5) with noise 0.8: every seed has its mode within an sd of ANCHOR."""
    key_x, key_y = jax.random.split(jax.random.key(seed))
    x = jax.random.normal(key_x, (ROWS, 2))
    noise = jax.random.normal(key_y, (ROWS,))
    # Residuals orthogonal to x and of sd 0.8 put the mode next to the anchor, for a seed whatever.
    noise = noise - x @ jnp.linalg.lstsq(x, noise)[0]
    return x, x @ jnp.array([1.0, -0.5]) + 0.8 * noise / noise.std()


ANCHOR = {"w": np.array([1.0, -0.5], np.float32), "sigma": np.log(np.float32(0.8))}


def build(name, **options):
    """Return the named kernel with explicit numbers, anchored where it needs an anchor."""
    return make(name, model, 1e-3, friction=5.0, anchor=ANCHOR, **options)


def mcmc_of(kernel, *, chains=2, chain_method="vectorized", warmup=WARMUP, **options):
    """Return a short MCMC."""
    options = {"num_samples": SAMPLES} | options
    return MCMC(
        kernel,
        num_warmup=warmup,
        num_chains=chains,
        chain_method=chain_method,
        progress_bar=False,
        **options,
    )


@cache
def shared(name):
    """Return a kernel that every test on `data()` may run: its one-time work is done once."""
    return build(name)


@cache
def vectorised(name):
    """Return a finished run of two vectorised chains, shared by tests that only read it."""
    mcmc = mcmc_of(shared(name))
    mcmc.run(jax.random.key(0), *data())
    return mcmc


def assert_same(first, second, **tolerance):
    """Check that two pytrees agree in structure and in value."""
    assert jax.tree.structure(first) == jax.tree.structure(second)
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
        a, b = (jax.random.key_data(v) if is_key(v) else np.asarray(v) for v in (a, b))
        np.testing.assert_allclose(a, b, **({"rtol": 2e-5, "atol": 1e-6} | tolerance))


def is_key(value):
    """Return whether a leaf is a typed key."""
    return jnp.issubdtype(jnp.asarray(value).dtype, jax.dtypes.prng_key)
