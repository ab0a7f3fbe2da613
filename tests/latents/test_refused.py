"""Models and options that latents of rows do not go with are refused, with a remedy."""

import re

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import MCMC

import numpyro_sgmcmc as sg
from tests.latents.problem import Y, gaussian

DATA = jnp.asarray(Y, jnp.float32)


def rows(name="rows", batch=2, **options):
    return numpyro.plate(name, 6, subsample_size=batch, **options)


def mean():
    return numpyro.sample("mean", dist.Normal(0.0, 1.0))


def crossed(y):
    m = mean()
    with rows("some", dim=-1), rows("others", dim=-2):
        a = numpyro.sample("a", dist.Normal(m, 1.0))
        numpyro.sample("y", dist.Normal(a, 1.0), obs=jnp.zeros((2, 2)))


def another(y):
    m = mean()
    with rows() as i:
        a = numpyro.sample("a", dist.Normal(m, 1.0))
        numpyro.sample("y", dist.Normal(a, 1.0), obs=y[i])
    with rows("others") as j:
        numpyro.sample("x", dist.Normal(m, 1.0), obs=y[j])


def discrete(y):
    m = mean()
    with rows() as i:
        a = numpyro.sample("a", dist.Normal(m, 1.0))
        z = numpyro.sample("z", dist.Bernoulli(0.3))
        numpyro.sample("y", dist.Normal(a + z, 1.0), obs=y[i])


def nothing_shared(y):
    with rows() as i:
        a = numpyro.sample("a", dist.Normal(0.0, 1.0))
        numpyro.sample("y", dist.Normal(a, 1.0), obs=y[i])


def random_density(y):
    m = mean()
    with rows() as i:
        a = numpyro.sample("a", dist.Normal(m, 1.0))
        noise = jax.random.normal(numpyro.prng_key(), ())
        numpyro.sample("y", dist.Normal(a + noise, 1.0), obs=y[i])


def many(y):
    m = mean()
    with rows() as i:
        a = numpyro.sample("a", dist.Normal(m * jnp.ones(65), 1.0).to_event(1))
        numpyro.sample("y", dist.Normal(a.sum(-1), 1.0), obs=y[i])


def other_rows(y):
    m = mean()
    with rows() as i:
        a = numpyro.sample("a", dist.Normal(m, 1.0))
        numpyro.sample("y", dist.Normal(a + 0.1 * a.mean(), 1.0), obs=y[i])


def outside(y):
    m = mean()
    with rows() as i:
        a = numpyro.sample("a", dist.Normal(m, 1.0))
        numpyro.sample("y", dist.Normal(a, 1.0), obs=y[i])
    numpyro.factor("pull", -(a.sum() ** 2))


MODELS = {
    crossed: "Expected one subsampled plate in a model with latents of rows; got 'a'",
    another: "Expected one subsampled plate in a model with latents of rows; got 'a'",
    discrete: "Expected no discrete latent sites in a model with latents of rows; got 'a'",
    nothing_shared: "Expected at least one latent site outside the subsampled plate",
    random_density: "Expected a deterministic density in a model with latents of rows",
    many: "Expected at most 64 latent numbers for each row",
    other_rows: "a row whose density depends on another row's latents, of 'a'",
    outside: "a density outside that depends on 'a'",
}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_models(model):
    mcmc = MCMC(sg.SGLD(model, 1e-2), num_warmup=1, num_samples=1, progress_bar=False)
    with pytest.raises(ValueError, match=re.escape(MODELS[model])):
        mcmc.run(jax.random.key(0), DATA)


KERNELS = {
    "FixedPoint": lambda: sg.SGLDFP(gaussian, 1e-3),
    "SVRG": lambda: sg.SVRGLD(gaussian, 1e-3),
    "fresh ones": lambda: sg.StaleGradient(sg.SGHMCSplit(gaussian), 2),
    "no noise correction": lambda: sg.SGHMCSplit(gaussian, noise_correction="diagonal"),
    "RMSProp": lambda: sg.SGLD(gaussian, 1e-3, preconditioner=sg.RMSProp()),
    "SweepMinibatch": lambda: sg.SGHMCSplit(gaussian, minibatch=sg.SweepMinibatch()),
    "temperature=1": lambda: sg.SGHMCSplit(gaussian, temperature=2.0),
    "one walker": lambda: sg.SGRRLD(gaussian, 1e-3),
}


@pytest.mark.parametrize("name", KERNELS)
def test_options(name):
    words = {"fresh ones": "Expected fresh gradients", "one walker": "Expected a kernel of one"}
    mcmc = MCMC(KERNELS[name](), num_warmup=1, num_samples=1, progress_bar=False)
    with pytest.raises((TypeError, ValueError), match=words.get(name, name)) as caught:
        mcmc.run(jax.random.key(0), DATA)
    assert re.search(r"[Uu]se |leave", str(caught.value))


def test_tune():
    with pytest.raises(ValueError, match="Expected a model without latents of rows"):
        sg.tune(sg.SGLD(gaussian), jax.random.key(0), DATA, budget=1.0)
