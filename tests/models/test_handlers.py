"""Effect handlers, control flow and shapes of arguments that models use."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro import handlers
from numpyro.contrib.control_flow import scan
from numpyro.infer.reparam import LocScaleReparam, TransformReparam

from numpyro_sgmcmc import SGLD, FixedPoint, SGHMCSplit
from numpyro_sgmcmc.model import read_structure
from tests.marks import briefly
from tests.models.agreement import assert_moving_inside, assert_unbiased, run

X = jax.random.normal(jax.random.key(0), (24, 3))
Y = X @ jnp.array([1.0, -1.0, 0.5]) + 0.3 * jax.random.normal(jax.random.key(1), (24,))
GROUP = jnp.arange(24) % 4


def factor_scale_mask(x, y, group, batch=None):
    w = numpyro.sample("w", dist.Normal(0, 1).expand([3]).to_event(1))
    numpyro.deterministic("norm", jnp.sqrt(jnp.sum(w**2)))
    numpyro.factor("prior", -0.5 * w[0] ** 2)
    rows = numpyro.plate("rows", x.shape[0], subsample_size=batch)
    with rows as i, handlers.scale(scale=0.5), handlers.mask(mask=y[i] > -1):
        numpyro.sample("y", dist.Normal(x[i] @ w, 1.0), obs=y[i])
        numpyro.factor("pull", -0.1 * (x[i] @ w) ** 2)


@handlers.reparam(config={"effect": LocScaleReparam(0.0), "s": TransformReparam()})
def reparametrised(x, y, group, batch=None):
    log_normal = dist.TransformedDistribution(dist.Normal(0, 1), dist.transforms.ExpTransform())
    s = numpyro.sample("s", log_normal)
    effect = numpyro.sample("effect", dist.Normal(jnp.zeros(4), s).to_event(1))
    with numpyro.plate("rows", y.shape[0], subsample_size=batch) as i:
        numpyro.sample("y", dist.Normal(effect[group[i]], 1.0), obs=y[i])


def scoped(x, y, group, batch=None):
    with handlers.scope(prefix="inner"):
        w = numpyro.sample("w", dist.Normal(0, 1).expand([3]).to_event(1))
        with numpyro.plate("rows", x.shape[0], subsample_size=batch) as i:
            numpyro.sample("y", dist.Normal(x[i] @ w, 1.0), obs=y[i])


def with_scan(x, y, group, batch=None):
    drift = numpyro.sample("drift", dist.Normal(0, 1))

    def step(level, _):
        level = numpyro.sample("level", dist.Normal(level + drift, 1.0))
        return level, level

    _, levels = scan(step, 0.0, jnp.arange(3))
    with numpyro.plate("rows", y.shape[0], subsample_size=batch) as i:
        numpyro.sample("y", dist.Normal(levels.sum(), 1.0), obs=y[i])


MODELS = [factor_scale_mask, reparametrised, scoped, with_scan]


@pytest.mark.parametrize("model", briefly(MODELS, MODELS[:1]))
def test_potential_is_numpyros_and_chains_move(model):
    assert_unbiased(model, X, Y, GROUP, batch=4)
    mcmc = run(SGLD(model, 1e-3), X, Y, GROUP, batch=4)
    draws = mcmc.get_samples()
    assert not mcmc.get_extra_fields()["diverging"].any()
    for value in draws.values():
        assert np.isfinite(value).all() and np.ptp(np.asarray(value), axis=0).min() > 0


def test_scope_prefixes_sites_and_plates():
    structure = read_structure(scoped, (X, Y, GROUP), {"batch": 4})
    assert list(structure.plates) == ["inner/rows"]
    assert list(structure.prototype) == ["inner/w"]


def test_deterministic_sites_follow_the_draws():
    draws = run(SGLD(factor_scale_mask, 1e-3), X, Y, GROUP, batch=4).get_samples()
    np.testing.assert_allclose(draws["norm"], jnp.linalg.norm(draws["w"], axis=1), rtol=1e-5)


def test_deterministic_sites_of_the_minibatch_are_left_out_with_a_warning():
    def model(x, y):
        w = numpyro.sample("w", dist.Normal(0, 1).expand([3]).to_event(1))
        with numpyro.plate("rows", x.shape[0], subsample_size=4) as i:
            mean = numpyro.deterministic("mean", x[i] @ w)
            numpyro.sample("y", dist.Normal(mean, 1.0), obs=y[i])
        numpyro.deterministic("average", mean.mean())

    with pytest.warns(UserWarning, match=r"'average', 'mean' depend .*Predictive") as caught:
        draws = run(SGLD(model, 1e-3), X, Y).get_samples()
    assert len(caught) == 1
    assert list(draws) == ["w"]


def test_keyword_only_and_pytree_arguments():
    def model(data, *, batch=None):
        w = numpyro.sample("w", dist.Normal(0, 1).expand([3]).to_event(1))
        with numpyro.plate("rows", data["x"].shape[0], subsample_size=batch) as i:
            numpyro.sample("y", dist.Normal(data["x"][i] @ w, 1.0), obs=data["y"][i])

    data = {"x": X, "y": np.asarray(Y)}
    assert_unbiased(model, data, batch=4)
    kernel = SGHMCSplit(model, 0.05, friction=5.0, gradient=FixedPoint())
    assert_moving_inside(run(kernel, data, batch=4), model, data)


def test_integer_data():
    def model(counts, batch=None):
        rate = numpyro.sample("rate", dist.Gamma(2.0, 1.0))
        with numpyro.plate("rows", counts.shape[0], subsample_size=batch) as i:
            numpyro.sample("k", dist.Poisson(rate), obs=counts[i])

    counts = jnp.arange(24) % 5
    assert_unbiased(model, counts, batch=4)
    assert_moving_inside(run(SGLD(model, 1e-3), counts, batch=4), model, counts)
