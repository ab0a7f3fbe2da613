"""Effects that a model scales after it has taken sums of them: `spread * jnp.cumsum(x)`."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from jax import lax

from numpyro_sgmcmc.model import read_structure, stochastic_potential
from numpyro_sgmcmc.types import Minibatch
from tests.models.agreement import check_scale, check_volume

TIME = jnp.arange(30) % 6
RESPONSE = jax.random.normal(jax.random.key(0), (30,))
BASIS = jax.random.normal(jax.random.key(1), (30, 6))
ARGS = TIME, RESPONSE, BASIS
BATCH = Minibatch({"rows": jnp.array([3, 1, 29, 12, 7])}, None)
SCALE = np.exp(-0.4)


def curve(mean_of):
    """Return a model whose means are a function of m, s, x, times and rows of a basis."""

    def model(time, response, basis):
        m = numpyro.sample("m", dist.Normal(0, 2))
        s = numpyro.sample("s", dist.HalfNormal(1))
        x = numpyro.sample("x", dist.Normal(0, 1).expand([6]).to_event(1))
        with numpyro.plate("rows", len(response), subsample_size=5) as i:
            means = mean_of(m, s, x, time[i], basis[i])
            numpyro.sample("y", dist.Normal(means, 0.7), obs=response[i])

    return model


@pytest.mark.parametrize(
    ("mean_of", "scale"),
    [
        (lambda m, s, x, t, b: m + (s * jnp.cumsum(x))[t], SCALE),
        (lambda m, s, x, t, b: m + 2 * s * jnp.cumsum(jnp.cumsum(x))[t], 2 * SCALE),
        (lambda m, s, x, t, b: m + s * (b @ x), SCALE),
        (lambda m, s, x, t, b: m + jnp.einsum("nk,k->n", b, x) * s, SCALE),
        (lambda m, s, x, t, b: m + s * (x - x.mean())[t], SCALE),
        (lambda m, s, x, t, b: m + s * jnp.append(0.0, jnp.cumsum(x))[t], SCALE),
        (lambda m, s, x, t, b: m + s * lax.associative_scan(jnp.add, x)[t], SCALE),
        (lambda m, s, x, t, b: m + s * (b * x).sum(-1), SCALE),
        (lambda m, s, x, t, b: m + (s * x[::-1])[t], SCALE),
        (lambda m, s, x, t, b: jnp.exp(s * jnp.cumsum(x)[t]), SCALE),
        (lambda m, s, x, t, b: s * (jnp.exp(m * jnp.tri(6)) @ x)[t], SCALE),
        (lambda m, s, x, t, b: s * (x[0] * jnp.tri(6) @ x)[t], None),
        (lambda m, s, x, t, b: s * (m * jnp.cumsum(x))[t], np.float32(0.3)),
        (lambda m, s, x, t, b: m + jnp.cumsum(s * jnp.cumsum(x))[t], SCALE),
        (lambda m, s, x, t, b: m + s * jnp.cumsum(x**2)[t], None),
        (lambda m, s, x, t, b: m + s * jnp.cumsum(x)[t] * (b @ x), SCALE),
        (lambda m, s, x, t, b: m + s * (jnp.cumsum(x)[t] * (b @ x)), None),
        (lambda m, s, x, t, b: m + (s + x[0]) * jnp.cumsum(x)[t], None),
        (lambda m, s, x, t, b: m + 2 * jnp.cumsum(x)[t], None),
        (lambda m, s, x, t, b: m + s * (1 / jnp.cumsum(x))[t], None),
        (lambda m, s, x, t, b: m + (s * b[:, 0]) * (b @ x), None),
    ],
    ids=[
        "random walk",
        "of second order",
        "basis",
        "einsum",
        "less the mean",
        "from zero",
        "scan",
        "sum of products",
        "other order",
        "curved afterwards",
        "matrix of another site",
        "matrix of x",
        "two scales",
        "sum of sums",
        "squares",
        "times another combination afterwards",
        "product of combinations",
        "scale of effects",
        "no scale",
        "reciprocal",
        "scale of each row",
    ],
)
def test_the_scale_of_combinations(mean_of, scale):
    found = read_structure(curve(mean_of), ARGS, {}).images(ARGS, {})
    values = {"m": jnp.array(0.3), "s": jnp.array(-0.4), "x": jnp.ones(6)}
    check_scale(found, values, scale)


def test_weight_1_is_the_random_walk_whose_increments_have_the_scale():
    def centred(time, response, basis):
        m = numpyro.sample("m", dist.Normal(0, 2))
        s = numpyro.sample("s", dist.HalfNormal(1))
        x = numpyro.sample("x", dist.Normal(0, s).expand([6]).to_event(1))
        with numpyro.plate("rows", len(response), subsample_size=5) as i:
            means = m + jnp.cumsum(x)[time[i]]
            numpyro.sample("y", dist.Normal(means, 0.7), obs=response[i])

    model = curve(lambda m, s, x, t, b: m + (s * jnp.cumsum(x))[t])
    structure, other = (read_structure(each, ARGS, {}) for each in (model, centred))
    placed = structure.partly_centred({"x": jnp.full(6, 0.3)}, ARGS, {})
    position = jax.random.normal(jax.random.key(1), (structure.dimension,))
    check_volume(structure, placed, position)
    np.testing.assert_allclose(placed.ravel(placed.unravel(position)), position, rtol=1e-5)
    whole = structure.partly_centred({"x": jnp.ones(6)}, ARGS, {})
    energies = [stochastic_potential(each, ARGS, {})(position, BATCH) for each in (whole, other)]
    np.testing.assert_allclose(energies[0], energies[1], rtol=1e-5)
