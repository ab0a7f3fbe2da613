"""Models and options that latents of rows do not go with are refused, with a remedy."""

import re

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import MCMC

import numpyro_sgmcmc as sg
from numpyro_sgmcmc.model import read_structure
from numpyro_sgmcmc.preparation import Target
from numpyro_sgmcmc.preparation.latents.moves import check_move
from numpyro_sgmcmc.preparation.latents.window import LatentWindow
from tests.latents import discrete
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


def discrete_outside(y):
    m = mean()
    z = numpyro.sample("z", dist.Bernoulli(0.3))
    with rows() as i:
        a = numpyro.sample("a", dist.Normal(m, 1.0))
        numpyro.sample("y", dist.Normal(a + z, 1.0), obs=y[i])


def discrete_crossed(y):
    m = mean()
    with rows("some", dim=-1), rows("others", dim=-2):
        z = numpyro.sample("z", dist.Bernoulli(jnp.full(3, 0.3)).to_event(1))
        numpyro.sample("y", dist.Normal(m + z.sum(-1), 1.0), obs=jnp.zeros((2, 2)))


def discrete_only(y):
    with rows() as i:
        z = numpyro.sample("z", dist.Bernoulli(jnp.full(3, 0.3)).to_event(1))
        numpyro.sample("y", dist.Normal(z.sum(-1), 1.0), obs=y[i])


def discrete_in_other_rows(y):
    m = mean()
    with rows() as i:
        z = numpyro.sample("z", dist.Bernoulli(jnp.full(3, 0.3)).to_event(1))
        numpyro.sample("y", dist.Normal(m + z.sum(), 1.0), obs=y[i])


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
    discrete_outside: "Expected no discrete latent sites outside the subsampled plate in a model",
    discrete_crossed: "Expected one subsampled plate in a model with latents of rows; got 'z'",
    discrete_only: "Expected at least one latent site outside the subsampled plate",
    discrete_in_other_rows: "a row whose density depends on another row's latents, of 'z'",
    nothing_shared: "Expected at least one latent site outside the subsampled plate",
    random_density: "Expected a deterministic density in a model with latents of rows",
    many: "Expected at most 64 continuous latent numbers for each row",
    other_rows: "a row whose density depends on another row's latents, of 'a'",
    outside: "a density outside that depends on 'a'",
}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_models(model):
    mcmc = MCMC(sg.SGLD(model, 1e-2), num_warmup=1, num_samples=1, progress_bar=False)
    with pytest.raises(ValueError, match=re.escape(MODELS[model])):
        mcmc.run(jax.random.key(0), DATA)


def test_values_without_a_bound_need_a_move_of_their_own():
    kernel = sg.SGLD(discrete.poisson, 1e-2, latent_move="gibbs")
    mcmc = MCMC(kernel, num_warmup=1, num_samples=1, progress_bar=False)
    with pytest.raises(ValueError, match=r"'n', which is moved by Gibbs .* `latent_move`"):
        mcmc.run(jax.random.key(0), DATA)


def test_a_move_without_discrete_latents():
    kernel = sg.SGLD(gaussian, 1e-2, latent_move="gibbs")
    mcmc = MCMC(kernel, num_warmup=1, num_samples=1, progress_bar=False)
    with pytest.raises(ValueError, match=r"for `latent_move`; got one without"):
        mcmc.run(jax.random.key(0), DATA)


MOVES = {
    "to return a dict": lambda c, rows: c,
    "among ['c']; got 'd', an unknown one": lambda c, rows: {"d": c},
    "of shape (2,), as in `gibbs_sites`; got (1,)": lambda c, rows: {"c": c[:1]},
    "to return integers for the discrete site 'c'": lambda c, rows: {"c": c + 0.5},
    "in its support, [0, 1]; got 2": lambda c, rows: {"c": jnp.full_like(c, 2)},
}


@pytest.mark.parametrize("words", MOVES)
def test_what_an_own_move_returns(words):
    """Found before the first transition, when the move is first called."""

    def move(rng_key, gibbs_sites, hmc_sites, rows):
        return MOVES[words](gibbs_sites["c"], rows)

    structure = read_structure(discrete.shifted, (DATA,), {}, move)
    target = Target(structure, sg.UniformMinibatch(), (DATA,), {})
    given = jax.random.key(0), jnp.zeros(1), jnp.zeros((6, 1), jnp.int32), jnp.arange(6)
    with pytest.raises((TypeError, ValueError), match=re.escape(words)):
        check_move(target, *given)


def test_the_parameters_of_an_own_move():
    with pytest.raises(TypeError, match="and add `rows`, the numbers of the rows to move"):
        sg.SGLD(discrete.shifted, 1e-2, latent_move=lambda rng_key, gibbs_sites, hmc_sites: {})


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


def test_walkers_that_leave_where_the_density_is_finite(monkeypatch):
    """Settings would be NaN, and so would be all draws."""
    run = LatentWindow.run

    def lost(*args):
        shown = run(*args)
        return shown._replace(seen=shown.seen._replace(last=shown.seen.last * jnp.nan))

    monkeypatch.setattr(LatentWindow, "run", lost)
    mcmc = MCMC(sg.SGHMCSplit(gaussian), num_warmup=10, num_samples=1, progress_bar=False)
    with pytest.raises(ValueError, match=r"density is finite; got.*Pass `init_params`"):
        mcmc.warmup(jax.random.key(0), DATA)
