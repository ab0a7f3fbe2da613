"""Effects that a model writes non-centred, and the coordinates that they can move in."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.contrib.control_flow import scan
from numpyro.handlers import reparam
from numpyro.infer.reparam import LocScaleReparam, TransformReparam

from numpyro_sgmcmc.model import movable_sites, read_structure, stochastic_potential
from numpyro_sgmcmc.types import Minibatch
from tests.models.agreement import check_volume

REGION = jnp.arange(6) % 2
SCHOOL = jnp.arange(30) % 6
RESPONSE = jax.random.normal(jax.random.key(0), (30,))
ARGS = SCHOOL, RESPONSE
BATCH = Minibatch({"rows": jnp.array([3, 1, 29, 12, 7])}, None)
X = dist.Normal(0, 1).expand([6]).to_event(1)


def of_effects(effects_of, site=X, early=False):
    """Return a model whose effects are a function of mean, spread and a site x."""

    def model(school, response):
        x = numpyro.sample("x", site) if early else None
        mean = numpyro.sample("mean", dist.Normal(0, 2))
        spread = numpyro.sample("spread", dist.HalfNormal(1))
        x = numpyro.sample("x", site) if x is None else x
        with numpyro.plate("rows", len(response), subsample_size=5) as i:
            effects = effects_of(mean, spread, x)[school[i]]
            numpyro.sample("y", dist.Normal(effects, 0.7), obs=response[i])

    return model


def by_reparam(config):
    def model(school, response):
        mean = numpyro.sample("mean", dist.Normal(0, 2))
        spread = numpyro.sample("spread", dist.HalfNormal(1))
        base = dist.Normal(0, 1).expand([6]).to_event(1)
        affine = dist.transforms.AffineTransform(mean, spread)
        moved = dist.TransformedDistribution(base, affine)
        prior = dist.Normal(mean, spread).expand([6]).to_event(1)
        is_affine = isinstance(config["effects"], TransformReparam)
        effects = numpyro.sample("effects", moved if is_affine else prior)
        with numpyro.plate("rows", len(response), subsample_size=5) as i:
            numpyro.sample("y", dist.Normal(effects[school[i]], 0.7), obs=response[i])

    return reparam(model, config=config)


def images_of(model):
    return read_structure(model, ARGS, {}).images(ARGS, {})


WIDE = dist.StudentT(5, 0.5, 2.0).expand([6]).to_event(1)


@pytest.mark.parametrize(
    ("model", "location", "scale"),
    [
        (of_effects(lambda m, s, x: m + s * x), 0.3, np.exp(-0.4)),
        (of_effects(lambda m, s, x: m + s * x, early=True), 0.3, np.exp(-0.4)),
        (of_effects(lambda m, s, x: x / s - m), -0.3, np.exp(0.4)),
        (of_effects(lambda m, s, x: (m - 1) + 2 * (s * (x + 1))), -0.7 + 2 * np.exp(-0.4), None),
        (of_effects(lambda m, s, x: s * x), 0.0, np.exp(-0.4)),
        (of_effects(lambda m, s, x: m + s * x, WIDE), 0.3 + 0.5 * np.exp(-0.4), 2 * np.exp(-0.4)),
        (by_reparam({"effects": LocScaleReparam(0)}), 0.3, np.exp(-0.4)),
        (by_reparam({"effects": TransformReparam()}), 0.3, np.exp(-0.4)),
    ],
    ids=[
        "written out",
        "before its scale",
        "divided",
        "in parts",
        "scale alone",
        "own location and scale",
        "LocScaleReparam",
        "TransformReparam",
    ],
)
def test_the_location_and_scale_of_an_effect(model, location, scale):
    (image,) = images_of(model)
    values = {"mean": jnp.array(0.3), "spread": jnp.array(-0.4), image.site: jnp.ones(6)}
    _, _, found_location, found_scale = image.location_and_scale(values)
    scale = 2 * np.exp(-0.4) if scale is None else scale
    np.testing.assert_allclose(found_location, np.full(6, location), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found_scale, np.full(6, scale), rtol=1e-5)


@pytest.mark.parametrize(
    "model",
    [
        of_effects(lambda m, s, x: m + jnp.diag(jnp.full(6, s)) @ x),
        of_effects(lambda m, s, x: m + s * jnp.exp(x)),
        of_effects(lambda m, s, x: m + s * (x * x)),
        of_effects(lambda m, s, x: 1.0 * (s * jnp.astype(x, int)) + m),
        of_effects(lambda m, s, x: m + s * x, dist.HalfNormal(1).expand([6]).to_event(1)),
        of_effects(lambda m, s, x: 2 * x + 1),
        of_effects(lambda m, s, x: jnp.full(6, m + s * x), dist.Normal(0, 1)),
    ],
    ids=[
        "product of matrices",
        "curved",
        "square",
        "integers",
        "positive",
        "constant scale",
        "single",
    ],
)
def test_what_is_no_scaled_effect_entry_by_entry(model):
    assert images_of(model) == []


def by_minibatch(school, response):
    """The scale of the effects depends on the rows of the minibatch."""
    spread = numpyro.sample("spread", dist.HalfNormal(1))
    x = numpyro.sample("x", X)
    with numpyro.plate("rows", len(response), subsample_size=5) as i:
        effects = spread * jnp.abs(response[i]).mean() * x
        numpyro.sample("y", dist.Normal(effects[school[i]], 1), obs=response[i])


def test_effects_whose_scale_depends_on_the_minibatch_stay():
    assert images_of(by_minibatch) == []


def two_levels(school, response, *, is_centred):
    """Schools in regions, in either form."""
    mean = numpyro.sample("mean", dist.Normal(0, 2))
    spread = numpyro.sample("spread", dist.HalfNormal(1).expand([2]).to_event(1))

    def effects(name, location, scale, size):
        if is_centred:
            return numpyro.sample(name, dist.Normal(location, scale).expand([size]).to_event(1))
        return location + scale * numpyro.sample(name, dist.Normal(0, 1).expand([size]).to_event(1))

    region = effects("region", mean, spread[0], 2)
    per_school = effects("school", region[REGION], spread[1], 6)
    with numpyro.plate("rows", len(response), subsample_size=5) as i:
        numpyro.sample("y", dist.Normal(per_school[school[i]], 0.5), obs=response[i])


STRUCTURE = read_structure(partial(two_levels, is_centred=False), ARGS, {})
WEIGHTS = {"region": jnp.array([0.3, 0.9]), "school": jnp.linspace(0, 1, 6)}
PLACED = STRUCTURE.partly_centred(WEIGHTS, ARGS, {})
POSITION = jax.random.normal(jax.random.key(1), (STRUCTURE.dimension,))


def test_a_coordinate_is_that_of_its_formula():
    values = {name: np.asarray(value) for name, value in PLACED.unravel(POSITION).items()}
    found = {name: np.asarray(value) for name, value in STRUCTURE.by_site(POSITION).items()}
    spread, c = np.exp(values["spread"]), np.asarray(WEIGHTS["school"])
    region = values["mean"] + spread[0] * values["region"]
    expected = spread[1] ** c * values["school"] + c * region[np.asarray(REGION)]
    np.testing.assert_allclose(found["school"], expected, rtol=1e-4, atol=1e-5)
    for name in ("mean", "spread"):
        np.testing.assert_array_equal(found[name], values[name])


def test_there_and_back():
    values = PLACED.unravel(POSITION)
    np.testing.assert_allclose(PLACED.ravel(values), POSITION, rtol=1e-4, atol=1e-5)
    zeros = jax.tree.map(jnp.zeros_like, WEIGHTS)
    as_written = STRUCTURE.partly_centred(zeros, ARGS, {})
    np.testing.assert_allclose(as_written.ravel(values), STRUCTURE.ravel(values), rtol=1e-5)


def test_the_volume_is_the_determinant_of_the_jacobian():
    check_volume(STRUCTURE, PLACED, POSITION)


@pytest.mark.parametrize("weight", [0.0, 0.4, 1.0])
def test_both_forms_have_the_same_potential_in_the_same_coordinates(weight):
    """Weight 1 of the non-centred form is the centred form, at every minibatch."""
    centred = read_structure(partial(two_levels, is_centred=True), ARGS, {})
    weights = {name: jnp.full_like(c, weight) for name, c in WEIGHTS.items()}
    energies = [
        stochastic_potential(one.partly_centred(weights, ARGS, {}), ARGS, {})(POSITION, BATCH)
        for one in (STRUCTURE, centred)
    ]
    np.testing.assert_allclose(energies[0], energies[1], rtol=1e-5)


def shared_by_two(school, response):
    """The sum of two sites of effects: each of them is known before the other one."""
    spread = numpyro.sample("spread", dist.HalfNormal(1).expand([2]).to_event(1))
    one, two = numpyro.sample("one", X), numpyro.sample("two", X)
    effects = spread[0] * one + spread[1] * two
    with numpyro.plate("rows", len(response), subsample_size=5) as i:
        numpyro.sample("y", dist.Normal(effects[school[i]], 1), obs=response[i])


def test_a_sum_of_two_effects_is_the_image_of_the_second():
    structure = read_structure(shared_by_two, ARGS, {})
    found = structure.images(ARGS, {})
    assert [image.site for image in found] == ["one", "two"]
    values = {"spread": jnp.array([-0.4, 0.6]), "one": jnp.full(6, 2.0), "two": jnp.ones(6)}
    locations = [np.asarray(image.location_and_scale(values)[2]) for image in found]
    np.testing.assert_allclose(locations[0], np.zeros(6))
    np.testing.assert_allclose(locations[1], np.full(6, 2 * np.exp(-0.4)), rtol=1e-5)
    weights = {"one": jnp.full(6, 0.5), "two": jnp.full(6, 0.8)}
    placed = structure.partly_centred(weights, ARGS, {})
    position = jax.random.normal(jax.random.key(2), (structure.dimension,))
    np.testing.assert_allclose(
        placed.ravel(placed.unravel(position)), position, rtol=1e-3, atol=1e-5
    )


def test_a_scale_too_small_for_its_type_leaves_the_potential_finite():
    model = of_effects(lambda m, s, x: m + s**40 * x)
    structure = read_structure(model, ARGS, {})
    placed = structure.partly_centred({"x": jnp.full(6, 0.5)}, ARGS, {})
    position = placed.ravel({"mean": jnp.array(0.0), "spread": jnp.array(-4.0), "x": jnp.ones(6)})
    energy, gradient = jax.value_and_grad(stochastic_potential(placed, ARGS, {}))(position, BATCH)
    assert np.isfinite(energy)
    assert np.all(np.isfinite(gradient))


def test_both_kinds_of_sites_can_move():
    def mixed(school, response):
        mean = numpyro.sample("mean", dist.Normal(0, 2))
        spread = numpyro.sample("spread", dist.HalfNormal(1))
        region = numpyro.sample("region", dist.Normal(mean, spread).expand([2]).to_event(1))
        x = numpyro.sample("x", X)
        with numpyro.plate("rows", len(response), subsample_size=5) as i:
            effects = (region[REGION] + spread * x)[school[i]]
            numpyro.sample("y", dist.Normal(effects, 0.7), obs=response[i])

    structure = read_structure(mixed, ARGS, {})
    zeros = {name: jnp.zeros_like(z) for name, z in structure.prototype.items()}
    names = movable_sites(structure, structure.constrain(zeros, ARGS, {}), ARGS, {})
    assert sorted(names) == ["region", "x"]
    placed = structure.partly_centred({n: jnp.full_like(zeros[n], 0.6) for n in names}, ARGS, {})
    position = jax.random.normal(jax.random.key(2), (structure.dimension,))
    np.testing.assert_allclose(
        placed.ravel(placed.unravel(position)), position, rtol=1e-4, atol=1e-5
    )


def in_a_scan(school, response):
    """A random walk by NumPyro's scan, whose steps are traced one for all."""
    spread = numpyro.sample("spread", dist.HalfNormal(1))

    def step(level, _):
        level = numpyro.sample("level", dist.Normal(level, spread))
        return level, level

    _, levels = scan(step, 0.0, jnp.arange(6))
    with numpyro.plate("rows", len(response), subsample_size=5) as i:
        numpyro.sample("y", dist.Normal(levels[school[i]], 1), obs=response[i])


def test_sites_in_a_scan_stay_as_they_are():
    structure = read_structure(in_a_scan, ARGS, {})
    zeros = {name: jnp.zeros_like(z) for name, z in structure.prototype.items()}
    assert movable_sites(structure, structure.constrain(zeros, ARGS, {}), ARGS, {}) == ()
