"""Products of matrices keep all digits on accelerators, wherever the model is evaluated."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import MCMC

import numpyro_sgmcmc as sg
from numpyro_sgmcmc.precision import full_precision

X = np.random.default_rng(0).standard_normal((40, 3)).astype(np.float32)
Y = (X @ np.array([1.0, -1.0, 0.5])).astype(np.float32)


@pytest.fixture
def seen():
    """Precisions that were in force when the model was evaluated or traced."""
    return []


@pytest.fixture
def on_a_gpu(monkeypatch):
    """JAX's backend, as far as the package can tell."""
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")


def model(seen, x, y):
    seen.append(jax.config.jax_default_matmul_precision)
    beta = numpyro.sample("beta", dist.Normal(0.0, 1.0).expand([3]).to_event(1))
    with numpyro.plate("rows", len(x), subsample_size=10) as rows:
        numpyro.sample("y", dist.Normal(x[rows] @ beta, 1.0), obs=y[rows])
    numpyro.deterministic("turned", jnp.eye(3) @ beta)


def groups(seen, y):
    seen.append(jax.config.jax_default_matmul_precision)
    b = numpyro.sample("b", dist.Normal(0.0, 1.0))
    with numpyro.plate("rows", len(y), subsample_size=10) as rows:
        a = numpyro.sample("a", dist.Normal(b, 1.0))
        numpyro.sample("y", dist.Normal(a, 1.0), obs=y[rows])


def mixture(seen, y):
    seen.append(jax.config.jax_default_matmul_precision)
    centre = numpyro.sample("centre", dist.Normal(0.0, 1.0).expand([2]).to_event(1))
    with numpyro.plate("rows", len(y), subsample_size=10) as rows:
        kind = numpyro.sample("kind", dist.Bernoulli(0.5), infer={"enumerate": "parallel"})
        numpyro.sample("y", dist.Normal(centre[kind], 1.0), obs=y[rows])


def run(kernel, *args, draws=20):
    mcmc = MCMC(kernel, num_warmup=0, num_samples=draws, progress_bar=False)
    mcmc.run(jax.random.key(0), *args)
    mcmc.get_samples()
    return mcmc


def products(function, *args):
    """Return the precisions of all products of a function's program."""

    def inner(jaxpr):
        for equation in jaxpr.eqns:
            if equation.primitive.name == "dot_general":
                yield equation.params["precision"]
            for value in jax.tree.leaves(
                list(equation.params.values()), is_leaf=lambda leaf: hasattr(leaf, "eqns")
            ):
                if hasattr(value, "eqns") or hasattr(value, "jaxpr"):
                    yield from inner(getattr(value, "jaxpr", value))

    return set(inner(jax.make_jaxpr(function)(*args).jaxpr))


HIGHEST = (jax.lax.Precision.HIGHEST, jax.lax.Precision.HIGHEST)


def test_transitions(on_a_gpu, seen):
    scale = sg.Dense(jnp.eye(3))
    kernel = sg.SGHMCSplit(partial(model, seen), 1e-3, friction=1.0, preconditioner=scale)
    state = kernel.init(jax.random.key(0), 0, None, (X, Y), {})
    assert products(lambda s: kernel.sample(s, (X, Y), {}), state) == {HIGHEST}


def test_nothing_changes_on_a_cpu(seen):
    assert jax.default_backend() == "cpu"
    kernel = sg.SGLD(partial(model, seen), 1e-3)
    state = kernel.init(jax.random.key(0), 0, None, (X, Y), {})
    assert products(lambda s: kernel.sample(s, (X, Y), {}), state) == {None}


def test_what_the_user_chose_stays(on_a_gpu, seen):
    with jax.default_matmul_precision("tensorfloat32"):
        run(sg.SGLD(partial(model, seen), 1e-3), X, Y)
    assert set(seen) == {"tensorfloat32"}


def test_a_verdict_keeps_all_digits_whatever_was_chosen(on_a_gpu, seen):
    with jax.default_matmul_precision("tensorfloat32"):
        mcmc = run(sg.SGLD(partial(model, seen), 1e-3), X, Y)
        seen.clear()
        sg.diagnose(mcmc)
    assert set(seen) == {"highest"}


def test_the_setting_is_restored(on_a_gpu):
    with full_precision():
        assert jax.config.jax_default_matmul_precision == "highest"
    assert jax.config.jax_default_matmul_precision is None


def test_every_use_of_a_model(on_a_gpu, seen):
    mcmc = run(sg.SGHMCSplit(partial(model, seen), 1e-3, friction=1.0), X, Y)
    sg.diagnose(mcmc)
    sg.to_inference_data(mcmc, log_likelihood=True, posterior_predictive=True, verdict=False)
    sg.run(mcmc, jax.random.key(1), X, Y, progress_bar=False)
    assert set(seen) == {"highest"}


@pytest.mark.long
def test_warm_up_and_search(on_a_gpu, seen):
    mcmc = MCMC(
        sg.SGHMCSplit(partial(model, seen)), num_warmup=50, num_samples=20, progress_bar=False
    )
    mcmc.run(jax.random.key(0), X, Y)
    sg.tune(sg.SGLD(partial(model, seen)), jax.random.key(0), X, Y, budget=40)
    assert set(seen) == {"highest"}


def test_latents_of_rows(on_a_gpu, seen):
    mcmc = run(sg.SGHMCSplit(partial(groups, seen), 1e-3, friction=1.0), Y)
    sg.local_posterior(mcmc, [0, 1], draws=5)
    assert set(seen) == {"highest"}


def test_discrete_latents(on_a_gpu, seen):
    mcmc = run(sg.SGHMCSplit(partial(mixture, seen), 1e-3, friction=1.0), Y)
    sg.class_probabilities(mcmc)
    assert set(seen) == {"highest"}
