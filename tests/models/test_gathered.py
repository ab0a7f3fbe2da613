"""Effects that a model scales after it has taken rows of them: `spread * x[group]`."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

from numpyro_sgmcmc.model import read_structure, stochastic_potential
from numpyro_sgmcmc.types import Minibatch
from tests.models.agreement import check_scale, check_volume

GROUP = jnp.arange(30) % 6
RESPONSE = jax.random.normal(jax.random.key(0), (30,))
COVARIATE = jnp.linspace(-1.0, 2.0, 30)
ARGS = GROUP, RESPONSE, COVARIATE
BATCH = Minibatch({"rows": jnp.array([3, 1, 29, 12, 7])}, None)


def of_rows(mean_of, columns=()):
    """Return a model whose means are a function of m, s, rows of x, and a covariate."""

    def model(group, response, covariate):
        m = numpyro.sample("m", dist.Normal(0, 2))
        s = numpyro.sample("s", dist.HalfNormal(1).expand(columns).to_event(len(columns)))
        x = numpyro.sample("x", dist.Normal(0, 1).expand([6, *columns]).to_event(1 + len(columns)))
        with numpyro.plate("rows", len(response), subsample_size=5) as i:
            means = mean_of(m, s, x[group[i]], covariate[i])
            numpyro.sample("y", dist.Normal(means, 0.7), obs=response[i])

    return model


SCALE = np.exp(-0.4)


@pytest.mark.parametrize(
    ("mean_of", "scale"),
    [
        (lambda m, s, x, c: m + s * x, SCALE),
        (lambda m, s, x, c: m + x * s, SCALE),
        (lambda m, s, x, c: m + x * (2 * s), 2 * SCALE),
        (lambda m, s, x, c: m + s * c * x, None),
        (lambda m, s, x, c: m + s * x * c, SCALE),
        (lambda m, s, x, c: m + x * c * s, SCALE),
        (lambda m, s, x, c: (s * x[:, None])[:, 0], SCALE),
        (lambda m, s, x, c: jnp.exp(s * x), SCALE),
        (lambda m, s, x, c: s * x**2, None),
        (lambda m, s, x, c: m + x, None),
        (lambda m, s, x, c: s * (m + x), None),
        (lambda m, s, x, c: x * s * m, SCALE),
    ],
    ids=[
        "scale first",
        "scale last",
        "twice the scale",
        "scale of each row",
        "times data",
        "data before the scale",
        "reshaped",
        "curved afterwards",
        "square",
        "no scale",
        "moved before",
        "two scales",
    ],
)
def test_the_scale_of_rows(mean_of, scale):
    found = read_structure(of_rows(mean_of), ARGS, {}).images(ARGS, {})
    values = {"m": jnp.array(0.3), "s": jnp.array(-0.4), "x": jnp.ones(6)}
    check_scale(found, values, scale)


def test_a_scale_for_each_column():
    model = of_rows(lambda m, s, x, c: m + (s * x).sum(-1) + c, (2,))
    (image,) = read_structure(model, ARGS, {}).images(ARGS, {})
    values = {"m": jnp.array(0.3), "s": jnp.array([-0.4, 0.5]), "x": jnp.ones((6, 2))}
    found = image.location_and_scale(values)[3]
    np.testing.assert_allclose(found, np.tile(np.exp([-0.4, 0.5]), (6, 1)), rtol=1e-6)


@pytest.mark.parametrize("columns", [(), (2,)], ids=["one", "two columns"])
def test_coordinates_are_valid_and_weight_1_is_the_centred_form(columns):
    def centred(group, response, covariate):
        m = numpyro.sample("m", dist.Normal(0, 2))
        s = numpyro.sample("s", dist.HalfNormal(1).expand(columns).to_event(len(columns)))
        shape = [6, *columns]
        x = numpyro.sample("x", dist.Normal(0, s).expand(shape).to_event(len(shape)))
        with numpyro.plate("rows", len(response), subsample_size=5) as i:
            means = m + x[group[i]].reshape(5, -1).sum(-1)
            numpyro.sample("y", dist.Normal(means, 0.7), obs=response[i])

    model = of_rows(lambda m, s, x, c: m + (s * x).reshape(5, -1).sum(-1), columns)
    structure, other = (read_structure(each, ARGS, {}) for each in (model, centred))
    placed = structure.partly_centred({"x": jnp.full((6, *columns), 0.3)}, ARGS, {})
    position = jax.random.normal(jax.random.key(1), (structure.dimension,))
    check_volume(structure, placed, position)
    np.testing.assert_allclose(placed.ravel(placed.unravel(position)), position, rtol=1e-5)
    whole = structure.partly_centred({"x": jnp.ones((6, *columns))}, ARGS, {})
    energies = [stochastic_potential(each, ARGS, {})(position, BATCH) for each in (whole, other)]
    np.testing.assert_allclose(energies[0], energies[1], rtol=1e-5)
