"""A model for NumPyro's kernels, and comparisons to the bit."""

import jax
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC

from numpyro_sgmcmc.driving.leaves import is_key
from tests.contract.problem import data


def whole(x, y=None):
    """The regression of the contract tests without minibatches."""
    w = numpyro.sample("w", dist.Normal(0.0, 1.0).expand([2]).to_event(1))
    sigma = numpyro.sample("sigma", dist.HalfNormal(2.0))
    numpyro.deterministic("signal", w / sigma)
    with numpyro.plate("rows", x.shape[0]):
        numpyro.sample("y", dist.Normal(x @ w, sigma), obs=y)


def mcmc_of(kernel, **options):
    """Return an MCMC without a bar, of two vectorised chains."""
    settings = {"num_warmup": 10, "num_samples": 31, "num_chains": 2, "chain_method": "vectorized"}
    return MCMC(kernel, progress_bar=False, **(settings | options))


def bits(tree):
    """Return type, shape and bytes of each leaf."""
    raw = [jax.random.key_data(x) if is_key(x) else x for x in jax.tree.leaves(tree)]
    return [(str(np.asarray(x).dtype), np.shape(x), np.asarray(x).tobytes()) for x in raw]


def assert_identical(first, second):
    """Check that two finished runs agree to the bit in all that NumPyro's `MCMC` holds."""
    for a, b in (
        (first.get_samples(True), second.get_samples(True)),
        (first.get_samples(), second.get_samples()),
        (first.get_extra_fields(True), second.get_extra_fields(True)),
        (first.last_state, second.last_state),
    ):
        assert jax.tree.structure(a) == jax.tree.structure(b)
        assert bits(a) == bits(b)


def both(build, run, *, fields=(), **options):
    """Return an MCMC that has run by itself, and one that has been driven."""
    own, driven = mcmc_of(build(), **options), mcmc_of(build(), **options)
    own.run(jax.random.key(1), *data(), extra_fields=fields)
    run(driven, jax.random.key(1), *data(), extra_fields=fields)
    return own, driven
