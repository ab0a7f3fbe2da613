"""Coordinates of effects between the centred and the non-centred form."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.handlers import reparam
from numpyro.infer.reparam import LocScaleReparam

from numpyro_sgmcmc.model import movable_sites, read_structure, stochastic_potential
from numpyro_sgmcmc.types import Minibatch
from tests.models.agreement import check_volume

REGION = jnp.arange(6) % 2
SCHOOL = jnp.arange(30) % 6
RESPONSE = jax.random.normal(jax.random.key(0), (30,))
ARGS = SCHOOL, RESPONSE
BATCH = Minibatch({"rows": jnp.array([3, 1, 29, 12, 7])}, None)


def nested(school, response):
    """Schools in regions: the location of an effect is another effect."""
    mean = numpyro.sample("mean", dist.Normal(0, 2))
    spread = numpyro.sample("spread", dist.HalfNormal(1).expand([2]).to_event(1))
    with numpyro.plate("regions", 2):
        region = numpyro.sample("region", dist.StudentT(5, mean, spread[0]))
    with numpyro.plate("schools", 6):
        school_effect = numpyro.sample("school", dist.Normal(region[REGION], spread[1]))
    noise = numpyro.sample("noise", dist.LogNormal(0, 1))
    with numpyro.plate("rows", len(response), subsample_size=5) as i:
        numpyro.sample("y", dist.Normal(school_effect[school[i]], noise), obs=response[i])


STRUCTURE = read_structure(nested, ARGS, {})
WEIGHTS = {"region": jnp.array([0.3, 0.9]), "school": jnp.linspace(0, 1, 6)}
PLACED = STRUCTURE.partly_centred(WEIGHTS, ARGS, {})
POSITION = jax.random.normal(jax.random.key(1), (STRUCTURE.dimension,))


def draw_of(structure):
    zeros = {name: jnp.zeros_like(z) for name, z in structure.prototype.items()}
    return structure.constrain(zeros, ARGS, {})


def by_site(coordinates):
    return {name: np.asarray(value) for name, value in STRUCTURE.by_site(coordinates).items()}


def test_a_coordinate_is_that_of_its_formula():
    values = {name: np.asarray(value) for name, value in PLACED.unravel(POSITION).items()}
    found, spread, c = by_site(POSITION), np.exp(values["spread"]), np.asarray(WEIGHTS["school"])
    location, z = values["region"][np.asarray(REGION)], values["school"]
    expected = (z - location) / spread[1] ** (1 - c) + c * location
    np.testing.assert_allclose(found["school"], expected, rtol=1e-4, atol=1e-5)
    for name in ("mean", "spread", "noise"):
        np.testing.assert_array_equal(found[name], values[name])


def test_there_and_back():
    values = PLACED.unravel(POSITION)
    np.testing.assert_allclose(PLACED.ravel(values), POSITION, rtol=1e-4, atol=1e-5)
    centred = STRUCTURE.partly_centred(jax.tree.map(jnp.ones_like, WEIGHTS), ARGS, {})
    np.testing.assert_allclose(centred.ravel(values), STRUCTURE.ravel(values), rtol=1e-5)


def test_the_volume_is_the_determinant_of_the_jacobian():
    check_volume(STRUCTURE, PLACED, POSITION)
    assert STRUCTURE.placed(POSITION)[1] == 0.0


def test_the_potential_is_that_of_the_values_less_the_volume():
    energy = stochastic_potential(PLACED, ARGS, {})(POSITION, BATCH)
    values, volume = PLACED.placed(POSITION)
    expected = stochastic_potential(STRUCTURE, ARGS, {})(STRUCTURE.ravel(values), BATCH) - volume
    np.testing.assert_allclose(energy, expected, rtol=1e-5)


def test_weight_0_is_numpyros_non_centred_form():
    """Potentials of both forms may differ by a constant only, and here by none."""
    zeros = jax.tree.map(jnp.zeros_like, WEIGHTS)
    apart = STRUCTURE.partly_centred(zeros, ARGS, {})
    config = {
        name: LocScaleReparam(0, shape_params=["df"] if name == "region" else []) for name in zeros
    }
    written = read_structure(reparam(nested, config=config), ARGS, {})
    values = STRUCTURE.by_site(POSITION)
    moved = {f"{name}_decentered" if name in zeros else name: z for name, z in values.items()}
    energy = stochastic_potential(apart, ARGS, {})(POSITION, BATCH)
    expected = stochastic_potential(written, ARGS, {})(written.ravel(moved), BATCH)
    np.testing.assert_allclose(energy, expected, rtol=1e-5)


def test_log_scales_are_those_of_the_priors():
    values = PLACED.unravel(POSITION)
    found = PLACED.coordinates.log_scales(values)
    assert found.keys() == WEIGHTS.keys()
    np.testing.assert_allclose(found["school"], np.repeat(values["spread"][1], 6), rtol=1e-5)


def of_rows(school, response):
    """The location of an effect depends on the rows of the minibatch."""
    spread = numpyro.sample("spread", dist.HalfNormal(1))
    with numpyro.plate("rows", len(response), subsample_size=5) as i:
        rows = response[i]
    effects = numpyro.sample("effects", dist.Normal(rows.mean(), spread).expand([6]).to_event(1))
    with numpyro.plate("rows", len(response), subsample_size=5) as i:
        numpyro.sample("y", dist.Normal(effects[school[i]], 1), obs=response[i])


def of_chance(school, response):
    """The density draws random numbers."""
    spread = numpyro.sample("spread", dist.HalfNormal(1))
    effects = numpyro.sample("effects", dist.Normal(0, spread).expand([6]).to_event(1))
    key = numpyro.prng_key()
    with numpyro.plate("rows", len(response), subsample_size=5) as i:
        mean = effects[school[i]] + 0.1 * jax.random.normal(key, (5,))
        numpyro.sample("y", dist.Normal(mean, 1), obs=response[i])


@pytest.mark.parametrize(
    ("model", "expected"),
    [(nested, ("region", "school")), (of_rows, ()), (of_chance, ())],
    ids=["nested", "location by minibatch", "random density"],
)
def test_effects_can_move_if_their_priors_are_the_same_for_every_minibatch(model, expected):
    structure = read_structure(model, ARGS, {})
    assert sorted(movable_sites(structure, draw_of(structure), ARGS, {})) == sorted(expected)


def spectral(school, response):
    """Scales of effects that decrease to 10^-33, as the weights of high frequencies do."""
    length = numpyro.sample("length", dist.LogNormal(0, 1))
    effects = numpyro.sample("effects", dist.Normal(0, 1).expand([6]).to_event(1))
    effects = effects * jnp.exp(-length * 3.0 * jnp.arange(6) ** 2)
    with numpyro.plate("rows", len(response), subsample_size=5) as i:
        numpyro.sample("y", dist.Normal(effects[school[i]], 0.7), obs=response[i])


def test_derivatives_are_finite_where_a_scale_nearly_underflows():
    structure = read_structure(spectral, ARGS, {})
    placed = structure.partly_centred({"effects": jnp.full(6, 0.5)}, ARGS, {})
    energy = partial(stochastic_potential(placed, ARGS, {}), minibatch=BATCH)
    position = placed.ravel({"effects": jnp.full(6, 0.1), "length": jnp.zeros(())})
    for derivatives in (jax.grad(energy), jax.hessian(energy), jax.hessian(jax.grad(energy))):
        assert np.isfinite(derivatives(position)).all()
    values, volume = placed.placed(position)
    plain = stochastic_potential(structure, ARGS, {})(structure.ravel(values), BATCH)
    np.testing.assert_allclose(energy(position), plain - volume, rtol=1e-5)
    check_volume(structure, placed, position)
