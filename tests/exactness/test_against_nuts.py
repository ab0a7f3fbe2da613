"""Proof 2: SGLDFP on a logistic regression of 100,000 rows against NUTS on all of them.

Every mean within 0.1 sd, every sd within 5 %. NUTS moves in coordinates whitened by the Hessian at
the mode, where a posterior of so many rows is all but Gaussian: its draws are nearly independent.
"""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.diagnostics import effective_sample_size
from numpyro.infer import MCMC, NUTS, init_to_value

from numpyro_sgmcmc import SGLDFP, Dense

ROWS, DIMENSION, BATCH = 100_000, 10, 100


def model(x, y, batch=BATCH):
    w = numpyro.sample("w", dist.Normal(0.0, 1.0).expand([DIMENSION]).to_event(1))
    with numpyro.plate("rows", ROWS, subsample_size=batch) as rows:
        x, y = (x, y) if batch is None else (x[rows], y[rows])
        numpyro.sample("y", dist.Bernoulli(logits=x @ w), obs=y)


def make_data():
    key_x, key_w, key_y = jax.random.split(jax.random.key(0), 3)
    mixing = jnp.eye(DIMENSION) + 0.3 * jnp.ones((DIMENSION, DIMENSION)) / DIMENSION
    x = jax.random.normal(key_x, (ROWS, DIMENSION)) @ mixing
    w = jax.random.normal(key_w, (DIMENSION,)) / 2
    return x, jax.random.bernoulli(key_y, jax.nn.sigmoid(x @ w)).astype(jnp.float32)


def laplace(x, y):
    """Return the mode and the inverse Hessian there, by Newton's steps in double precision."""
    x, y, w = np.asarray(x, np.float64), np.asarray(y, np.float64), np.zeros(DIMENSION)
    for _ in range(8):
        p = 1 / (1 + np.exp(-x @ w))
        hessian = np.eye(DIMENSION) + (x * (p * (1 - p))[:, None]).T @ x
        w = w - np.linalg.solve(hessian, w + x.T @ (p - y))
    return w, np.linalg.inv(hessian)


def nuts_draws(x, y, mode, covariance):
    kernel = NUTS(
        model,
        inverse_mass_matrix=jnp.asarray(covariance, jnp.float32),
        dense_mass=True,
        adapt_mass_matrix=False,
        max_tree_depth=2,  # three steps of this length turn by half a period: enough, and cheapest
        init_strategy=init_to_value(values={"w": jnp.asarray(mode, jnp.float32)}),
    )
    mcmc = MCMC(
        kernel,
        num_warmup=100,
        num_samples=1_000,
        num_chains=8,
        chain_method="vectorized",
        progress_bar=False,
    )
    mcmc.run(jax.random.key(1), x, y, batch=None)
    return np.asarray(mcmc.get_samples(group_by_chain=True)["w"])


@pytest.mark.slow
@pytest.mark.release
def test_sgldfp_agrees_with_nuts():
    x, y = make_data()
    mode, covariance = laplace(x, y)
    nuts = nuts_draws(x, y, mode, covariance)
    # h = 0.02 in whitened coordinates makes a variance too large by 1 %; gradient noise adds less.
    kernel = SGLDFP(
        model,
        0.02,
        anchor={"w": mode},
        preconditioner=Dense(jnp.asarray(np.linalg.cholesky(covariance), jnp.float32)),
        num_steps=20,
    )
    mcmc = MCMC(
        kernel,
        num_warmup=30,
        num_samples=200,
        num_chains=128,
        chain_method="vectorized",
        progress_bar=False,
    )
    mcmc.run(jax.random.key(2), x, y)
    ours = np.asarray(mcmc.get_samples(group_by_chain=True)["w"])
    mean, sd = nuts.mean((0, 1)), nuts.std((0, 1))
    # By chance an sd of n effective squares is off by 1 / sqrt(2 n): 1.4 % and 0.9 % here,
    # together 1.7 %. A bias of 1 % leaves 2.4 standard errors to 5 %: under a new key one
    # comparison fails at a rate of 8e-3, a mean (0.1 sd, 7 standard errors) at none.
    for draws, squares in ((nuts, 2_500), (ours, 6_000)):
        assert effective_sample_size((draws - mean) ** 2).min() > squares
    assert (np.abs(ours.mean((0, 1)) - mean) < 0.1 * sd).all()
    assert (np.abs(ours.std((0, 1)) / sd - 1) < 0.05).all()
