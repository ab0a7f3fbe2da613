"""A sigmoid belief network through `MCMC`, against sums over its hidden units.

With the hidden units summed out the parameters z have a potential U, and draws of the posterior
have E z . grad U(z) = d and E grad U(z) = 0 exactly. Means of chains are compared with these; 4
standard errors over 16 independent chains, Student's t: false-failure rate 1e-3 for the first, and
5 of them 2e-4 each for the 20 others; keys fixed.
"""

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.infer import MCMC
from numpyro.infer.util import log_density

import numpyro_sgmcmc as sg
from benchmarks.papers.p000_belief import model, summed

IMAGES, PIXELS, UNITS, BATCH = 60, 6, 2, 20
CHAINS, DRAWS = 16, 150


def images():
    rng = np.random.default_rng(0)
    hidden = rng.random((IMAGES, UNITS)) < 0.5
    logits = hidden @ (3 * rng.standard_normal((UNITS, PIXELS))) - 1
    return (rng.random((IMAGES, PIXELS)) < 1 / (1 + np.exp(-logits))).astype(np.float32)


def scores(draws, data):
    """Return the deviations of z . grad U and of grad U in standard errors, (1 + d,)."""

    def energy(sites):
        return -log_density(summed, (jnp.asarray(data), UNITS), {}, sites)[0]

    slopes = jax.jit(jax.vmap(jax.vmap(jax.grad(energy))))(draws)
    flat = [
        np.concatenate([np.asarray(x, np.float64).reshape(CHAINS, DRAWS, -1) for x in parts], -1)
        for parts in (list(draws.values()), list(slopes.values()))
    ]
    position, slope = flat[0], flat[1]
    virial = np.sum(position * slope, axis=-1, keepdims=True) - position.shape[-1]
    found = np.concatenate([virial, slope], axis=-1).mean(1)
    return found.mean(0) / (found.std(0, ddof=1) / np.sqrt(CHAINS))


def test_draws_have_the_marginal_posterior():
    data = images()
    kernel = sg.SGHMCSplit(model, 0.03, friction=3.0, num_steps=30)
    options = {"num_chains": CHAINS, "chain_method": "vectorized", "progress_bar": False}
    mcmc = MCMC(kernel, num_warmup=100, num_samples=DRAWS, **options)
    mcmc.run(jax.random.key(0), jnp.asarray(data), UNITS, BATCH)
    draws = mcmc.get_samples(group_by_chain=True)
    found = scores(draws, data)
    assert abs(found[0]) < 4 and (np.abs(found[1:]) < 5).all(), found
    wide = jax.tree.map(
        lambda x: x.mean(1, keepdims=True) + 1.2 * (x - x.mean(1, keepdims=True)), draws
    )
    assert abs(scores(wide, data)[0]) > 4
