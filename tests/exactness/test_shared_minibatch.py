"""Chains that see the same minibatches: each one's distribution, and what two have in common."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import MCMC

from numpyro_sgmcmc import (
    SGLD,
    ContiguousMinibatch,
    ReshuffledMinibatch,
    RichardsonRomberg,
    SGHMCSplit,
    SharedMinibatch,
    diagnose,
)
from tests.marks import briefly

CHAINS, ROWS, BATCH = 32, 200, 20
LONG = partial(pytest.param, marks=pytest.mark.long)
Y = jnp.asarray(np.random.default_rng(0).normal(size=ROWS), jnp.float32)


def model(y):
    """U = sum (y - theta)^2 / 2: curvature N, and noise of variance N^2 s^2 / B at any theta."""
    theta = numpyro.sample("theta", dist.ImproperUniform(dist.constraints.real, (), ()))
    with numpyro.plate("rows", ROWS, subsample_size=BATCH) as rows:
        numpyro.sample("y", dist.Normal(theta, 1.0), obs=y[rows])


def run(kernel, draws, chains=CHAINS, **options):
    options = {"chain_method": "vectorized", "progress_bar": False} | options
    mcmc = MCMC(kernel, num_warmup=0, num_samples=draws, num_chains=chains, **options)
    mcmc.run(jax.random.key(1), Y, init_params={"theta": jnp.full(chains, Y.mean())})
    return mcmc


def mean_and_error(values, batches=50):
    """The mean of a series and its standard error by batch means."""
    means = values[: len(values) // batches * batches].reshape(batches, -1).mean(1)
    return means.mean(), means.std(ddof=1) / np.sqrt(batches)


def test_distribution_of_a_chain_and_what_two_have_in_common():
    """Langevin with additive noise: z' = (1 - h N) z + h xi + sqrt(2 h) w, xi shared.

    Both within 5 standard errors of 50 batches (false failures: 2 x 8e-6, Student's t).
    """
    h = 0.2 / ROWS
    draws = np.asarray(
        run(SGLD(model, h, minibatch=SharedMinibatch()), 20_000).get_samples(True)["theta"],
        np.float64,
    )[:, 100:].T
    z = draws - float(Y.mean())
    noise = ROWS**2 * float(np.var(np.asarray(Y, np.float64))) / BATCH
    damping = 1 - (1 - h * ROWS) ** 2
    variance, covariance = (h**2 * noise + 2 * h) / damping, h**2 * noise / damping
    assert 0.4 < covariance / variance < 0.6  # about half of it is shared
    for found, exact in (
        (np.mean(z**2, axis=1), variance),
        (z.mean(1) ** 2, (variance + (CHAINS - 1) * covariance) / CHAINS),
    ):
        mean, error = mean_and_error(found)
        assert abs(mean - exact) < 5 * error


@pytest.mark.long
def test_effective_sizes_count_what_chains_share():
    """The precision of the overall mean is that of the shared noise, not of C independent chains.

    Independent chains: the ratio of ArviZ's effective size to the verdict's is 1; here, with
    correlation 1/2 of 32 chains, near 1 + 31 / 2.
    """
    h = 0.2 / ROWS
    apart = run(SGLD(model, h), 2_000)
    shared = run(SGLD(model, h, minibatch=SharedMinibatch()), 2_000)
    sizes = [diagnose(mcmc).sites.loc["theta", "ess_bulk"] for mcmc in (apart, shared)]
    assert sizes[0] > 8 * sizes[1]


@pytest.mark.parametrize(
    "build",
    [
        LONG(lambda: SGHMCSplit(model, 0.1 / ROWS**0.5, minibatch=SharedMinibatch(), num_steps=3)),
        LONG(lambda: SGLD(model, 1e-4, minibatch=SharedMinibatch(ReshuffledMinibatch()))),
        lambda: SGLD(model, 1e-4, minibatch=SharedMinibatch(ContiguousMinibatch())),
        LONG(lambda: RichardsonRomberg(SGLD(model, 1e-4, minibatch=SharedMinibatch()), levels=3)),
    ],
)
def test_rows_are_gathered_once_for_all_chains(build):
    kernel = build()
    keys = jax.random.split(jax.random.key(0), 4)
    state = kernel.init(keys, 0, None, (Y,), {})
    traced = jax.jit(lambda s, y: kernel.sample(s, (y,), {})).trace(state, Y)
    gathered = [shape for shape in _shapes(traced.jaxpr, "gather") if BATCH in shape]
    assert gathered
    assert all(4 not in shape for shape in gathered)
    after = traced.lower().compile()(state, Y)
    assert jax.tree.map(jnp.shape, after) == jax.tree.map(jnp.shape, state)
    for leaf in jax.tree.leaves(after.minibatch):
        data = (
            jax.random.key_data(leaf) if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf
        )
        np.testing.assert_array_equal(data, jnp.broadcast_to(data[:1], data.shape))


@pytest.mark.parametrize("chain_method", briefly(["sequential", "vectorized"], ["vectorized"]))
def test_other_chain_methods_share_nothing(chain_method):
    kernel = SGLD(model, 1e-4, minibatch=SharedMinibatch())
    mcmc = run(kernel, 50, chains=2, chain_method=chain_method)
    assert np.isfinite(mcmc.get_samples()["theta"]).all()
    keys = jax.random.key_data(mcmc.last_state.minibatch.key)
    assert bool(np.all(keys[0] == keys[1])) == (chain_method == "vectorized")


def _shapes(jaxpr, primitive):
    """Shapes of what a primitive makes anywhere in a jaxpr."""
    found = []
    for equation in jaxpr.eqns:
        if equation.primitive.name == primitive:
            found += [v.aval.shape for v in equation.outvars]
        for part in jax.tree.leaves(equation.params, is_leaf=lambda x: hasattr(x, "eqns")):
            if hasattr(part, "eqns"):
                found += _shapes(part, primitive)
    return found
