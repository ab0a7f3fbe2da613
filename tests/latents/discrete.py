"""Models with discrete latents of rows, and what sums over their values give."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

BATCH = 2
Y = np.array([-1.1, 0.3, 2.9, 2.2, 0.1, 3.4])
BITS = np.array([[0, 1, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1]])
CLASSES = np.array([0, 1, 3])
SHARES = np.array([0.5, 0.2, 0.3])
SHIFT, CHANCE = 2.0, 0.3


def shifted(y, batch=BATCH):
    """A binary latent for each row, which moves its mean."""
    m = numpyro.sample("m", dist.Normal(jnp.zeros(1), 2.0).to_event(1))
    with numpyro.plate("rows", len(y), subsample_size=batch) as i:
        c = numpyro.sample("c", dist.Bernoulli(CHANCE))
        numpyro.sample("y", dist.Normal(m[0] + SHIFT * c, 1.0), obs=y[i])


def belief(y, batch=BATCH):
    """Three binary units for each row behind three binary observations."""
    bias = numpyro.sample("bias", dist.Normal(jnp.zeros(3), 1.0).to_event(1))
    weight = numpyro.sample("weight", dist.Normal(jnp.zeros((3, 3)), 1.0).to_event(2))
    with numpyro.plate("rows", len(y), subsample_size=batch) as i:
        h = numpyro.sample("h", dist.Bernoulli(jnp.array([0.3, 0.5, 0.6])).to_event(1))
        numpyro.sample("y", dist.Bernoulli(logits=h @ weight + bias).to_event(1), obs=y[i])


def classes(y, batch=BATCH):
    """Two classes of three values for each row, in a plate of their own inside a row."""
    m = numpyro.sample("m", dist.Normal(jnp.zeros(4), 1.0).to_event(1))
    with numpyro.plate("rows", len(y), subsample_size=batch, dim=-2) as i:
        with numpyro.plate("sides", 2, dim=-1):
            k = numpyro.sample("k", dist.Categorical(jnp.asarray(SHARES)))
        mean = m[jnp.asarray(CLASSES)[k]].sum(-1, keepdims=True)
        numpyro.sample("y", dist.Normal(mean, 1.0), obs=y[i][:, None])


def both(y, batch=BATCH):
    """A continuous and a binary latent for each row."""
    m = numpyro.sample("m", dist.Normal(jnp.zeros(1), 2.0).to_event(1))
    with numpyro.plate("rows", len(y), subsample_size=batch) as i:
        a = numpyro.sample("a", dist.Normal(m[0], 1.0))
        c = numpyro.sample("c", dist.Bernoulli(CHANCE))
        numpyro.sample("y", dist.Normal(a + SHIFT * c, 1.0), obs=y[i])


def poisson(y, batch=BATCH):
    """A count for each row, without an upper bound."""
    m = numpyro.sample("m", dist.Normal(0.0, 1.0))
    with numpyro.plate("rows", len(y), subsample_size=batch) as i:
        n = numpyro.sample("n", dist.Poisson(2.0))
        numpyro.sample("y", dist.Normal(m + n, 1.0), obs=y[i])


def moved(rng_key, gibbs_sites, hmc_sites, rows):
    """An own move of `shifted`: a draw from the exact conditional distribution."""
    away = jnp.asarray(Y, jnp.float32)[rows] - hmc_sites["m"][0]
    logits = SHIFT * away - SHIFT**2 / 2 + np.log(CHANCE / (1 - CHANCE))
    new = jax.random.bernoulli(rng_key, jax.nn.sigmoid(logits))
    return {"c": new.astype(gibbs_sites["c"].dtype)}


def states_of(local):
    """Return all joint values of a row's discrete latents, (states, m)."""
    supports = [site.support for site in local.discrete for _ in range(site.size)]
    return np.array(list(product(*supports)), np.int32)


def probabilities_of_classes(y):
    """Return p(k_i = v | y) of both sides of each row, (rows, 2, 3), by sums over all classes.

    Given the classes y is N(0, I + A A'), where A counts how often a row has each entry of m.
    """
    pairs = list(product(range(3), repeat=2))
    counts = np.zeros((9, 4))
    for row, pair in enumerate(pairs):
        for value in pair:
            counts[row, CLASSES[value]] += 1
    logs = np.log([SHARES[a] * SHARES[b] for a, b in pairs])
    found = np.zeros((len(y), 2, 3))
    joint, where = [], list(product(range(9), repeat=len(y)))
    for chosen in where:
        rows = list(chosen)
        covariance = np.eye(len(y)) + counts[rows] @ counts[rows].T
        quadratic = y @ np.linalg.solve(covariance, y)
        joint.append(logs[rows].sum() - (quadratic + np.linalg.slogdet(covariance)[1]) / 2)
    weight = np.exp(np.array(joint) - max(joint))
    for chosen, share in zip(where, weight / weight.sum(), strict=True):
        for row, state in enumerate(chosen):
            for side, value in enumerate(pairs[state]):
                found[row, side, value] += share
    return found


def posterior_of_shifted(y=Y):
    """Return means of m, m^2 and each c_i, by sums over c and quadrature over m."""
    m = np.linspace(-12.0, 12.0, 20_001)
    away = np.asarray(y)[:, None] - m
    ones = np.log(CHANCE) - (away - SHIFT) ** 2 / 2
    zeros = np.log(1 - CHANCE) - away**2 / 2
    total = -(m**2) / 8 + np.logaddexp(ones, zeros).sum(0)
    weight = np.exp(total - total.max())
    weight /= weight.sum()
    chance = np.exp(ones - np.logaddexp(ones, zeros))
    return np.array([weight @ m, weight @ m**2, *(chance @ weight)])
