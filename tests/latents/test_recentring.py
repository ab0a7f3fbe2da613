"""Latents of rows in coordinates between the centred and the non-centred form."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.contrib.control_flow import scan
from numpyro.distributions.transforms import AffineTransform, ExpTransform, SigmoidTransform
from numpyro.infer.reparam import LocScaleReparam
from numpyro.infer.util import potential_energy

from numpyro_sgmcmc.latents import laplace_rows
from numpyro_sgmcmc.model import read_structure, stochastic_potential
from numpyro_sgmcmc.model.local import Effect, effects_of_rows
from numpyro_sgmcmc.model.location_scale import unconstrained_prior
from numpyro_sgmcmc.preparation.latents.recentring import relaxation_rates
from tests.latents.problem import binomial

X = jnp.linspace(-1.0, 1.0, 6)
Y = jnp.asarray([0.3, -0.4, 1.2, 0.1, -0.8, 2.0])


def chained(y, batch=None):
    """The second latent's location is the first latent; the plate weighs half of each."""
    tau = numpyro.sample("tau", dist.HalfNormal(1.0))
    b = numpyro.sample("b", dist.Normal(0.0, 1.0))
    with numpyro.plate("rows", len(y), subsample_size=batch) as i:
        with numpyro.handlers.scale(scale=0.5):
            a = numpyro.sample("a", dist.Normal(b + X[i], tau))
        c = numpyro.sample(
            "c", dist.StudentT(5.0, a[:, None], 2 * tau[None]).expand([len(i), 2]).to_event(1)
        )
        rate = numpyro.sample("rate", dist.LogNormal(b, 2.0 * tau))
        numpyro.sample("y", dist.Normal(c.sum(-1) + rate, 1.0), obs=y[i])


def joint(model, *args, weights=None):
    structure = read_structure(model, args, {})
    return stochastic_potential(structure.partly_centred(weights, args, {}), args, {})


WEIGHTS = {"a": jnp.asarray(0.3), "c": jnp.asarray([0.0, 0.8]), "rate": jnp.asarray(0.4)}


def at(potential, seed=0):
    structure, local = potential.structure, potential.structure.local
    keys = jax.random.split(jax.random.key(seed))
    position = 0.5 * jax.random.normal(keys[0], (structure.dimension,))
    return position, jax.random.normal(keys[1], (len(Y), local.dimension)), jnp.arange(len(Y))


def test_the_density_is_that_of_the_values_times_the_volume():
    """u'(z, y) = u(z, a(y)) - log |da / dy|, with a(y) written out, and the same slopes."""
    plain, placed = joint(chained, Y, 2), joint(chained, Y, 2, weights=WEIGHTS)
    position, latents, rows = at(plain)

    def values_of(position, y, row):
        z = plain.structure.unravel(position)
        tau, b = jnp.exp(z["tau"]), z["b"]
        m, s = b + X[row], tau**0.7
        a = m + s * (y[0] - 0.3 * m)
        scales = (2 * tau) ** (1 - WEIGHTS["c"])
        c = a + scales * (y[1:3] - WEIGHTS["c"] * a)
        s_rate = (2 * tau) ** 0.6
        log_rate = b + s_rate * (y[3] - 0.4 * b)
        values = jnp.concatenate([a[None], c, log_rate[None]])
        return values, jnp.log(s) + jnp.log(scales).sum() + jnp.log(s_rate)

    def expected(position, y, row):
        values, volume = values_of(position, y, row)
        return plain.row(position, values, row)[0] - volume

    def found(position, y, row):
        return placed.row(position, y, row)[0]

    both = [
        jax.jit(jax.vmap(jax.value_and_grad(f, (0, 1)), (None, 0, 0)))(position, latents, rows)
        for f in (expected, found)
    ]
    for one, other in zip(*map(jax.tree.leaves, both), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-4)
    shown = jax.jit(jax.vmap(placed.row, (None, 0, 0)))(position, latents, rows)[1]
    values = jax.vmap(lambda *row: values_of(position, *row)[0])(latents, rows)
    np.testing.assert_allclose(shown[:, :3], values[:, :3], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(jnp.log(shown[:, 3]), values[:, 3], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(placed.shared(position), plain.shared(position), rtol=1e-6)
    together = placed.rows(position, latents, rows, plain.structure.local.some_discrete(len(Y)))
    np.testing.assert_allclose(together, both[1][0].sum(), rtol=1e-4)


def test_coordinates_are_the_inverse():
    plain, placed = joint(chained, Y, 2), joint(chained, Y, 2, weights=WEIGHTS)
    position, latents, rows = at(plain)
    flat = jnp.asarray([0.3, 0.0, 0.8, 0.4])
    coordinates = plain.prior(position, latents, rows).coordinates(latents, flat)
    back = jax.vmap(lambda *row: placed.row(position, *row)[1])(coordinates, rows)
    np.testing.assert_allclose(back[:, :3], latents[:, :3], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(jnp.log(back[:, 3]), latents[:, 3], rtol=1e-4, atol=1e-5)


def test_the_non_centred_form_is_that_of_numpyro():
    """The joint density of all rows is that of the model under `LocScaleReparam(0)`."""
    y = jnp.asarray([1.0, 4.0, 0.0, 2.0, 3.0, 5.0])
    placed = joint(binomial, y, 2, weights={"a": jnp.zeros(())})
    position, latents, rows = at(placed)
    each = jax.vmap(lambda *row: placed.row(position, *row)[0])(latents, rows)
    values = placed.structure.unravel(position) | {"a_decentered": latents[:, 0]}
    reparametrised = numpyro.handlers.reparam(binomial, config={"a": LocScaleReparam(0.0)})
    exact = potential_energy(reparametrised, (y, None), {}, values)
    np.testing.assert_allclose(placed.shared(position) + each.sum(), exact, rtol=1e-5)


def location_only(y, batch=None):
    b = numpyro.sample("b", dist.Normal(0.0, 1.0))
    with numpyro.plate("rows", len(y), subsample_size=batch) as i:
        a = numpyro.sample("a", dist.Normal(b, 0.5))
        numpyro.sample("y", dist.Normal(a, 1.0), obs=y[i])


def non_centred(y, batch=None):
    tau = numpyro.sample("tau", dist.HalfNormal(1.0))
    with numpyro.plate("rows", len(y), subsample_size=batch) as i:
        x = numpyro.sample("x", dist.Normal(0.0, 1.0))
        numpyro.sample("y", dist.Normal(tau * x, 1.0), obs=y[i])


def positive(y, batch=None):
    shape = numpyro.sample("shape", dist.Gamma(2.0, 1.0))
    with numpyro.plate("rows", len(y), subsample_size=batch) as i:
        a = numpyro.sample("a", dist.Gamma(shape, 1.0))
        numpyro.sample("y", dist.Normal(a, 1.0), obs=y[i])


def with_discrete(y, batch=None):
    tau = numpyro.sample("tau", dist.HalfNormal(1.0))
    with numpyro.plate("rows", len(y), subsample_size=batch) as i:
        k = numpyro.sample("k", dist.Bernoulli(0.5), infer={"enumerate": "parallel"})
        a = numpyro.sample("a", dist.Normal(3.0 * k, tau))
        numpyro.sample("y", dist.Normal(a, 1.0), obs=y[i])


def with_scan(y, batch=None):
    tau = numpyro.sample("tau", dist.HalfNormal(1.0))
    total, _ = scan(lambda carry, x: (carry + x * tau, None), 0.0, jnp.arange(3.0))
    with numpyro.plate("rows", len(y), subsample_size=batch) as i:
        a = numpyro.sample("a", dist.Normal(total, tau))
        numpyro.sample("y", dist.Normal(a, 1.0), obs=y[i])


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (binomial, [Effect("a", True, True)]),
        (chained, [Effect(name, True, True) for name in ("a", "c", "rate")]),
        (positive, []),
        (location_only, [Effect("a", True, False)]),
        (non_centred, []),
        (with_discrete, []),
        (with_scan, []),
    ],
)
def test_effects(model, expected):
    """Latents whose location or scale depends on others; a Gamma distribution has none."""
    assert effects_of_rows(joint(model, Y, 2)) == expected


INFORMATION = np.array([0.2, 1.0, 5.0])
"""Of the rows of a Gaussian model on their latents, with a scale of 1."""


def test_rates_of_a_location_are_those_of_a_gibbs_sampler():
    """Exact: one less the eigenvalue of its linear recursion, with a flat prior of the location."""
    shares = INFORMATION / (1 + INFORMATION)
    found = relaxation_rates(Effect("a", True, False), shares[:, None])
    # Centred: m' = mean of a, and a | m has the mean (1 - R) m + R y.
    centred = 1 - np.mean(1 - shares)
    # Non-centred, y = m + x + noise: m' = weighted mean of y - x, and x | m has the mean R (y - m).
    weights = INFORMATION / INFORMATION.sum()
    non_centred = 1 - np.sum(weights * shares)
    np.testing.assert_allclose(found, (centred, non_centred))


def test_rates_of_a_scale_are_ratios_of_fisher_information():
    """Expected second derivatives in log s, by quadrature over data and latents."""
    information, scale = 2.0, 0.7
    x, w = np.polynomial.hermite_e.hermegauss(40)
    w = w / w.sum()
    e, noise = np.meshgrid(x, x)
    weight = np.outer(w, w)
    y = scale * e + noise / np.sqrt(information)

    def expected(log_density):
        second = jax.vmap(lambda y, e: jax.grad(jax.grad(log_density))(jnp.log(scale), y, e))(
            jnp.ravel(jnp.asarray(y)), jnp.ravel(jnp.asarray(e))
        )
        return -float(np.sum(np.ravel(weight) * np.asarray(second)))

    def data(t, y, e):
        variance = jnp.exp(2 * t) + 1 / information
        return -jnp.log(variance) / 2 - y**2 / variance / 2

    def both_centred(t, y, e):
        a = scale * e
        return -t - a**2 / jnp.exp(2 * t) / 2

    def both_non_centred(t, y, e):
        return -information * (y - jnp.exp(t) * e) ** 2 / 2

    own = expected(data)
    expected_rates = own / expected(both_centred), own / expected(both_non_centred)
    share = information * scale**2 / (1 + information * scale**2)
    found = relaxation_rates(Effect("a", False, True), np.array([[share]]))
    np.testing.assert_allclose(found, expected_rates, rtol=1e-4)


def test_the_slowest_number_of_a_row_counts():
    shares = np.array([[0.9, 0.1], [0.9, 0.1]])
    one = relaxation_rates(Effect("a", True, True), shares[:, :1])
    other = relaxation_rates(Effect("a", True, True), shares[:, 1:])
    found = relaxation_rates(Effect("a", True, True), shares)
    np.testing.assert_allclose(found, np.minimum(one, other))
    assert one[0] > one[1] and other[1] > other[0]


def test_laplace_approximations_follow_the_coordinates():
    """The mode of a Gaussian row in coordinates, and its factor, are those of its values moved."""
    weights = {"a": jnp.zeros(())}
    plain, placed = joint(location_only, Y, 2), joint(location_only, Y, 2, weights=weights)
    position, latents, rows = at(plain)
    value, moved = (
        jax.jit(partial(laplace_rows, p))(position, latents, rows) for p in (plain, placed)
    )
    np.testing.assert_allclose(moved.factor, value.factor / 0.5, rtol=1e-5)
    expected = (value.latents - position[0]) / 0.5
    np.testing.assert_allclose(moved.latents, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("prior", "expected"),
    [
        (dist.LogNormal(0.5, 2.0).expand([3]).to_event(1), (0.5, 2.0)),
        (dist.TransformedDistribution(dist.Normal(0.5, 2.0).expand([3]), ExpTransform()), (0.5, 2)),
        (dist.TransformedDistribution(dist.Normal(0.5, 2.0), SigmoidTransform()), (0.5, 2.0)),
        (dist.TransformedDistribution(dist.Normal(0.0, 1.0), AffineTransform(1.0, 2.0)), None),
        (dist.StudentT(3.0, 0.5, 2.0).mask(True), (0.5, 2.0)),
        (dist.HalfNormal(2.0), None),
        (dist.MultivariateNormal(jnp.zeros(2), jnp.eye(2)), None),
    ],
)
def test_the_prior_of_unconstrained_numbers(prior, expected):
    found = unconstrained_prior(prior)
    if expected is None:
        assert found is None
    else:
        for part, value in zip((found.loc, found.scale), expected, strict=True):
            np.testing.assert_array_equal(part, value)
