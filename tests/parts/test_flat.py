"""Positions of large models, put together in a branch of their own, against `ravel_pytree`."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from jax.flatten_util import ravel_pytree

from numpyro_sgmcmc.cpu.assembly import MANY_NUMBERS
from numpyro_sgmcmc.model import read_structure
from numpyro_sgmcmc.model.flat import flat_maps

SHAPES = {
    "0": (0,),
    "wide": (7, MANY_NUMBERS // 7),
    "b": (),
    "a": (3, 2),
    "c": (MANY_NUMBERS // 8,),
}


@pytest.fixture(scope="module", params=["alike", "mixed"])
def values(request):
    half = jnp.float16 if request.param == "mixed" else jnp.float32
    keys = jax.random.split(jax.random.key(0), len(SHAPES))
    types = {"a": half, "c": half}
    return {
        name: jax.random.normal(key, shape, types.get(name, jnp.float32))
        for key, (name, shape) in zip(keys, SHAPES.items(), strict=True)
    }


def energy(sites):
    return sum(jnp.sum(jnp.sin(x.astype(jnp.float32)) * (i + 1)) for i, x in enumerate(sites))


def test_there_and_back(values):
    flat, separate = flat_maps(values), ravel_pytree(values)[1]
    position = flat.ravel(values)
    np.testing.assert_array_equal(position, ravel_pytree(values)[0])
    assert position.dtype == ravel_pytree(values)[0].dtype
    jax.tree.map(np.testing.assert_array_equal, flat.unravel(position), separate(position))
    types = [{n: x.dtype for n, x in v.items()} for v in (flat.unravel(position), values)]
    assert types[0] == types[1]


def test_gradients_and_curvature(values):
    flat, (position, separate) = flat_maps(values), ravel_pytree(values)
    ours, theirs = (
        lambda x, maps=maps: energy(maps(x).values()) for maps in (flat.unravel, separate)
    )
    np.testing.assert_array_equal(jax.grad(ours)(position), jax.grad(theirs)(position))
    vector = jnp.cos(jnp.arange(position.size, dtype=position.dtype))
    products = [jax.jvp(jax.grad(f), (position,), (vector,))[1] for f in (ours, theirs)]
    np.testing.assert_array_equal(*products)


def test_chains(values):
    flat = flat_maps(values)
    stacked = jax.tree.map(lambda x: jnp.stack([x, 2 * x]), values)
    positions = jax.vmap(flat.ravel)(stacked)
    np.testing.assert_array_equal(positions[0], flat.ravel(values))
    slopes = jax.vmap(jax.grad(lambda x: energy(flat.unravel(x).values())))(positions)
    one = jax.grad(lambda x: energy(flat.unravel(x).values()))(positions[1])
    np.testing.assert_allclose(slopes[1], one, rtol=1e-6)


def test_what_is_not_finite_at_first_is_not_finite_at_all(values):
    flat = flat_maps(values)
    broken = values | {"a": values["a"].at[0, 0].set(jnp.inf)}
    assert jnp.isnan(flat.ravel(broken)).all()
    later = values | {"wide": values["wide"].at[-1, -1].set(jnp.inf)}
    np.testing.assert_array_equal(flat.ravel(later), ravel_pytree(later)[0])


def test_nothing_of_the_model_s_trace_is_kept():
    def model():
        numpyro.sample("w", dist.Normal(0.0, 1.0).expand([MANY_NUMBERS]).to_event(1))

    with jax.checking_leaks():
        structure = read_structure(model, (), {})
    assert structure.bounded == ()  # real numbers need no second look
    position = jnp.arange(MANY_NUMBERS, dtype=jnp.float32)
    np.testing.assert_array_equal(structure.ravel(structure.unravel(position)), position)
