"""Where chains with many shared parameters and a given step size start."""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import init_to_value

import numpyro_sgmcmc as sg

Y = jnp.array([-1.1, 0.3, 2.9, 2.2, 0.1, 3.4])
START = jnp.linspace(-1.0, 1.0, 301)


def binary(y):
    theta = numpyro.sample("theta", dist.Normal(jnp.zeros(len(START)), 1.0).to_event(1))
    with numpyro.plate("rows", len(y), subsample_size=2) as i:
        c = numpyro.sample("c", dist.Bernoulli(0.3))
        numpyro.sample("y", dist.Normal(theta[0] + 2 * c, 1.0), obs=y[i])


def continuous(y):
    theta = numpyro.sample("theta", dist.Normal(jnp.zeros(len(START)), 1.0).to_event(1))
    with numpyro.plate("rows", len(y), subsample_size=2) as i:
        a = numpyro.sample("a", dist.Normal(theta[0], 1.0))
        numpyro.sample("y", dist.Normal(a, 1.0), obs=y[i])


def first(kernel_class, model, **options):
    """Return the first state of two chains that start at `START`."""
    if model is binary:
        options |= {"latent_move": "gibbs"}
    strategy = init_to_value(values={"theta": START})
    kernel = kernel_class(model, 1e-3, num_steps=5, init_strategy=strategy, **options)
    return kernel.init(jax.random.split(jax.random.key(0)), 20, None, (Y,), {})


@pytest.mark.parametrize(
    ("kernel_class", "options"), [(sg.SGLD, {}), (sg.SGHMCSplit, {"friction": 2.0})]
)
def test_discrete_latents_alone_need_no_transitions_before_the_warm_up(kernel_class, options):
    state = first(kernel_class, binary, **options)
    assert jnp.array_equal(state.z["theta"], jnp.stack([START, START]))


def test_a_friction_is_chosen_where_transitions_lead():
    state = first(sg.SGHMCSplit, binary)
    assert not jnp.array_equal(state.z["theta"][0], START)
    assert (state.tuned.friction > 0).all() and jnp.isfinite(state.tuned.friction).all()


def test_proposals_of_continuous_latents_are_found_where_transitions_lead():
    state = first(sg.SGLD, continuous)
    assert not jnp.array_equal(state.z["theta"][0], START)
