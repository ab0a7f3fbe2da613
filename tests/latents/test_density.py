"""The joint density of shared parameters and latents of rows."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro import handlers
from numpyro.infer.util import constrain_fn, potential_energy

from numpyro_sgmcmc.model import read_structure, stochastic_potential
from tests.latents.problem import Y, binomial, counts, gaussian, shares

ROWS = 7
CASES = {
    "gaussian": (gaussian, jnp.asarray(Y, jnp.float32)),
    "binomial": (binomial, jnp.array([0, 1, 5, 3, 2, 2, 4])),
    "counts": (counts, jnp.arange(ROWS * 2).reshape(ROWS, 2) % 5),
    "shares": (shares, jnp.linspace(-1.0, 1.0, ROWS * 2).reshape(ROWS, 2)),
}


@cache
def joint(name):
    model, y = CASES[name]
    structure = read_structure(model, (y, 2), {})
    return model, y, structure, stochastic_potential(structure, (y, 2), {})


@pytest.mark.parametrize("name", CASES)
def test_the_parts_add_up_to_numpyro_s_potential_of_all_rows(name):
    model, y, structure, potential = joint(name)
    local = structure.local
    position = 0.3 * jax.random.normal(jax.random.key(1), (structure.dimension,))
    latents = 0.3 * jax.random.normal(jax.random.key(2), (len(y), local.dimension))
    values = structure.unravel(position) | local.unravel(latents)
    exact = jax.jit(jax.value_and_grad(lambda z: potential_energy(model, (y, None), {}, z)))(values)

    def total(position, latents):
        rows = jnp.arange(len(y))
        each, _ = jax.vmap(potential.row, (None, 0, 0))(position, latents, rows)
        return potential.shared(position) + each.sum()

    energy, slopes = jax.jit(jax.value_and_grad(total, argnums=(0, 1)))(position, latents)
    np.testing.assert_allclose(energy, exact[0], rtol=1e-5)
    shared = structure.ravel({name: exact[1][name] for name in structure.prototype})
    np.testing.assert_allclose(slopes[0], shared, rtol=2e-4, atol=2e-4)
    rows = jnp.stack(jax.tree.leaves(local.unravel(slopes[1])), 0) if name == "gaussian" else None
    if rows is not None:
        np.testing.assert_allclose(rows[0], exact[1]["a"], rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("name", CASES)
def test_values_of_a_row_are_those_of_the_model(name):
    model, y, structure, potential = joint(name)
    local = structure.local
    position = 0.3 * jax.random.normal(jax.random.key(1), (structure.dimension,))
    latents = 0.3 * jax.random.normal(jax.random.key(2), (len(y), local.dimension))
    each = jax.jit(jax.vmap(potential.row, (None, 0, 0)))
    found = local.split(each(position, latents, jnp.arange(len(y)))[1])
    values = structure.unravel(position) | local.unravel(latents)
    exact = jax.jit(lambda z: constrain_fn(handlers.seed(model, 0), (y, None), {}, z))(values)
    for site in local.sites:
        expected = np.moveaxis(np.asarray(exact[site.name]), site.axis, 0)
        np.testing.assert_allclose(found[site.name], expected, rtol=1e-5, atol=1e-6)
