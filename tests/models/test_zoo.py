"""Each model: the stochastic potential is exact over the data, and kernels run on it."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.infer import MCMC
from numpyro.infer.util import initialize_model

from numpyro_sgmcmc import SGLD, FixedPoint, SGHMCSplit
from numpyro_sgmcmc.adaptation import Target
from numpyro_sgmcmc.minibatch import UniformMinibatch
from numpyro_sgmcmc.potential import over_whole_data, read_structure, stochastic_potential
from numpyro_sgmcmc.types import Minibatch
from tests.models.zoo import CASES

BATCH = 4


def subsampled(case):
    return partial(case.model, batch=BATCH)


def reference(case):
    """NumPyro's own potential of the model without subsampling."""
    info = initialize_model(
        jax.random.key(0), case.model, model_args=case.args, model_kwargs=case.kwargs
    )
    return jax.jit(jax.value_and_grad(info.potential_fn))


@pytest.mark.parametrize("name", CASES)
def test_potential_over_all_rows_is_numpyros(name):
    case = CASES[name]
    structure = read_structure(subsampled(case), case.args, case.kwargs)
    assert structure.plates
    flat = 0.5 * jax.random.normal(jax.random.key(3), (structure.dimension,))
    expected, slopes = reference(case)(structure.unravel(flat))
    target = Target(structure, UniformMinibatch(), case.args, case.kwargs)
    value, gradient = target.run(lambda view, z: view.value_and_grad(z), flat)
    np.testing.assert_allclose(value, expected, rtol=2e-5)
    for site, slope in structure.unravel(gradient).items():
        np.testing.assert_allclose(slope, slopes[site], rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("name", CASES)
def test_mean_over_single_rows_is_the_whole(name):
    case = CASES[name]
    structure = read_structure(subsampled(case), case.args, case.kwargs)
    flat = 0.5 * jax.random.normal(jax.random.key(4), (structure.dimension,))
    potential = stochastic_potential(structure, case.args, case.kwargs)
    sizes = [plate.size for plate in structure.plates.values()]
    grid = jnp.stack(jnp.meshgrid(*map(jnp.arange, sizes), indexing="ij"), -1)
    rows = grid.reshape(-1, len(sizes), 1)
    one = lambda r: potential(flat, Minibatch(dict(zip(structure.plates, r, strict=True))))  # noqa: E731
    mean = jax.jit(lambda rows: jnp.mean(jax.lax.map(one, rows)))(rows)
    np.testing.assert_allclose(mean, reference(case)(structure.unravel(flat))[0], rtol=5e-5)
    blocks = over_whole_data(structure, lambda i: potential(flat, Minibatch(i)), block_size=7)
    np.testing.assert_allclose(blocks, mean, rtol=5e-5)


@pytest.mark.parametrize("name", CASES)
def test_kernels_run_and_respect_supports(name):
    case = CASES[name]
    kernel = SGHMCSplit(subsampled(case), 1e-2, friction=5.0, gradient=FixedPoint())
    plain = SGLD(subsampled(case), 1e-3)
    for sampler in (kernel, plain) if name == "nested plates" else (plain,):
        mcmc = MCMC(sampler, num_warmup=10, num_samples=20, progress_bar=False)
        mcmc.run(jax.random.key(5), *case.args, **case.kwargs)
        draws = mcmc.get_samples()
        assert not bool(mcmc.get_extra_fields()["diverging"].any())
        assert len(np.unique(draws[next(iter(draws))], axis=0)) == 20
        for site, check in case.checks.items():
            assert bool(jnp.all(jax.vmap(check)(draws[site]))), site
        for site, value in draws.items():
            assert bool(jnp.all(jnp.isfinite(value))), site


def test_names_follow_the_scope():
    case = CASES["scope"]
    structure = read_structure(subsampled(case), case.args, case.kwargs)
    assert list(structure.plates) == ["inner/rows"]
    assert list(structure.prototype) == ["inner/w"]


def test_argument_that_turns_subsampling_off_gives_the_full_gradient():
    case = CASES["positive"]
    structure = read_structure(case.model, case.args, case.kwargs)
    assert structure.plates == {}
    mcmc = MCMC(SGLD(case.model, 1e-3), num_warmup=5, num_samples=5, progress_bar=False)
    mcmc.run(jax.random.key(0), *case.args)
    # No minibatch noise: the reported potential energy is exact at the point of the gradient.
    z = jax.tree.map(lambda x: x[-2], mcmc.get_samples())
    unconstrained = {"w": z["w"], "s": jnp.log(z["s"])}
    energy = mcmc.get_extra_fields()["potential_energy"][-1]
    np.testing.assert_allclose(energy, reference(case)(unconstrained)[0], rtol=1e-4)


def test_dynamic_support_and_reparam_constrain_each_draw():
    case = CASES["dynamic support"]
    mcmc = MCMC(SGLD(subsampled(case), 1e-3), num_warmup=5, num_samples=20, progress_bar=False)
    mcmc.run(jax.random.key(0), *case.args)
    low, high = mcmc.get_samples()["low"], mcmc.get_samples()["high"]
    assert bool(jnp.all((high > low) & (high < low + 9.0)))
