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
from numpyro_sgmcmc.model.local import Effect, effects_of_rows, weights_at
from numpyro_sgmcmc.model.location_scale import unconstrained_prior
from numpyro_sgmcmc.preparation.latents.recentring import (
    at_a_small_scale,
    best_weights,
    relaxation_rate,
)
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


def of_each_row(*shape):
    """Return weights of the location and of the scale that differ between rows and numbers."""
    return jnp.asarray(np.random.default_rng(len(shape)).uniform(0, 1, (len(Y), *shape, 2)))


WEIGHTS = {
    "a": of_each_row(),
    "c": of_each_row(2),
    "rate": jnp.tile(jnp.asarray([0.4, 0.7]), (6, 1)),
}


def at(potential, seed=0):
    structure, local = potential.structure, potential.structure.local
    keys = jax.random.split(jax.random.key(seed))
    position = 0.5 * jax.random.normal(keys[0], (structure.dimension,))
    return position, jax.random.normal(keys[1], (len(Y), local.dimension)), jnp.arange(len(Y))


def assert_same_density(plain, placed, values_of, where):
    """Compare u_i and its slopes in coordinates with those of values minus the log volume."""
    position, latents, rows = where

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
    together = placed.rows(position, latents, rows, plain.structure.local.some_discrete(len(Y)))
    np.testing.assert_allclose(together, both[1][0].sum(), rtol=1e-4)


def test_the_density_is_that_of_the_values_times_the_volume():
    """u'(z, y) = u(z, a(y)) - log |da / dy|, with a(y) written out, and the same slopes."""
    plain, placed = joint(chained, Y, 2), joint(chained, Y, 2, weights=WEIGHTS)
    position, latents, rows = at(plain)

    def values_of(position, y, row):
        z = plain.structure.unravel(position)
        tau, b = jnp.exp(z["tau"]), z["b"]
        of_a, of_c, of_rate = (WEIGHTS[name][row] for name in ("a", "c", "rate"))
        m, s = b + X[row], tau ** (1 - of_a[1])
        a = m + s * (y[0] - of_a[0] * m)
        scales = (2 * tau) ** (1 - of_c[:, 1])
        c = a + scales * (y[1:3] - of_c[:, 0] * a)
        s_rate = (2 * tau) ** (1 - of_rate[1])
        log_rate = b + s_rate * (y[3] - of_rate[0] * b)
        values = jnp.concatenate([a[None], c, log_rate[None]])
        return values, jnp.log(s) + jnp.log(scales).sum() + jnp.log(s_rate)

    assert_same_density(plain, placed, values_of, at(plain))
    shown = jax.jit(jax.vmap(placed.row, (None, 0, 0)))(position, latents, rows)[1]
    values = jax.vmap(lambda *row: values_of(position, *row)[0])(latents, rows)
    np.testing.assert_allclose(shown[:, :3], values[:, :3], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(jnp.log(shown[:, 3]), values[:, 3], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(placed.shared(position), plain.shared(position), rtol=1e-6)


def test_other_weights_keep_the_values():
    """Coordinates of values, and of these with weights the other way round, are the same values."""
    plain, placed = joint(chained, Y, 2), joint(chained, Y, 2, weights=WEIGHTS)
    position, latents, rows = at(plain)
    weights = weights_at(WEIGHTS, rows, plain.structure.local)
    coordinates = plain.prior(position, latents, rows).with_weights(latents, weights)
    back = jax.vmap(lambda *row: placed.row(position, *row)[1])(coordinates, rows)
    np.testing.assert_allclose(back[:, :3], latents[:, :3], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(jnp.log(back[:, 3]), latents[:, 3], rtol=1e-4, atol=1e-5)
    back = placed.prior(position, coordinates, rows).with_weights(coordinates, jnp.ones(2))
    np.testing.assert_allclose(back, latents, rtol=1e-4, atol=1e-5)


def test_standard_values_of_coordinates():
    """(a - m) / s of a latent whose location depends on another one, written out."""
    placed = joint(chained, Y, 2, weights=WEIGHTS)
    position, coordinates, rows = at(placed)
    values = jax.vmap(lambda *row: placed.row(position, *row)[1])(coordinates, rows)
    tau = jnp.exp(placed.structure.unravel(position)["tau"])
    found = placed.prior(position, coordinates, rows).standard(coordinates)
    expected = (values[:, 1:3] - values[:, :1]) / (2 * tau)
    np.testing.assert_allclose(found[:, 1:3], expected, rtol=1e-4, atol=1e-5)


def test_the_non_centred_form_is_that_of_numpyro():
    """The joint density of all rows is that of the model under `LocScaleReparam(0)`."""
    y = jnp.asarray([1.0, 4.0, 0.0, 2.0, 3.0, 5.0])
    placed = joint(binomial, y, 2, weights={"a": jnp.zeros((len(y), 2))})
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


COVARIATE = jnp.asarray([0.0, 1.0, -0.5, 0.3, 2.0, -1.0])


def scaled(y, batch=None):
    """Latents that the model scales, and some that it must leave: see `test_effects`."""
    tau = numpyro.sample("tau", dist.HalfNormal(1))
    b = numpyro.sample("b", dist.Normal(0, 1))
    with numpyro.plate("rows", len(y), subsample_size=batch) as i:
        slope = numpyro.sample("slope", dist.Normal(0, 1))
        a = numpyro.sample("a", dist.Normal(b, tau))
        w = numpyro.sample("w", dist.StudentT(4, 0, 1).expand([len(i), 2]).to_event(1))
        of_either_sign = numpyro.sample("of_either_sign", dist.Normal(0, 1))
        not_standard = numpyro.sample("not_standard", dist.Normal(1, 1))
        rest = b * of_either_sign + tau * not_standard
        mean = b + 0.5 + tau * slope * COVARIATE[i] + b * COVARIATE[i]
        numpyro.sample("y", dist.Normal(mean + a + (tau**2 * w).sum(-1) + rest, 1), obs=y[i])


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
        (non_centred, [Effect("x", True, True)]),
        (scaled, [Effect("slope", True, True), Effect("a", True, True), Effect("w", True, True)]),
        (with_discrete, []),
        (with_scan, []),
    ],
)
def test_effects(model, expected):
    """Latents whose location or scale depends on others; a Gamma distribution has none.

    So do those that the model scales, if their prior is standard and the scale keeps its sign.
    Integers as parameters of a prior are real numbers.
    """
    assert effects_of_rows(joint(model, Y, 2)) == expected


SCALED = {"slope": of_each_row(), "a": of_each_row(), "w": of_each_row(2)}


def test_the_density_with_latents_that_the_model_scales():
    """u'(z, y) = u(z, x(y)) - log |dx / dy|, with x(y) written out.

    A latent that is multiplied by a covariate of 0 moves as it is, whatever its weights are.
    """
    weights = SCALED
    plain, placed = joint(scaled, Y, 2), joint(scaled, Y, 2, weights=weights)
    position, latents, rows = at(plain)

    def values_of(position, y, row):
        z = plain.structure.unravel(position)
        tau, b = jnp.exp(z["tau"]), z["b"]
        (c, k), (of_a, k_a), of_w = weights["slope"][row], weights["a"][row], weights["w"][row]
        s = jnp.where(COVARIATE[row] == 0, 1.0, jnp.abs(tau * COVARIATE[row]))
        c = jnp.where(COVARIATE[row] == 0, 0.0, c)
        slope = s**-k * (y[0] - c * (b + 0.5 + b * COVARIATE[row]))
        a = b + tau ** (1 - k_a) * (y[1] - of_a * b)
        w = (tau**2) ** -of_w[:, 1] * y[2:4]
        volume = -k * jnp.log(s) + (1 - k_a) * jnp.log(tau) - jnp.log(tau**2) * of_w[:, 1].sum()
        return jnp.concatenate([jnp.stack([slope, a]), w, y[4:]]), volume

    assert_same_density(plain, placed, values_of, at(plain))
    values = jax.vmap(lambda *row: values_of(position, *row)[0])(latents, rows)
    prior = placed.prior(position, latents, rows)
    np.testing.assert_allclose(prior.standard(latents)[:, 0], values[:, 0], rtol=1e-4, atol=1e-5)
    tau = jnp.exp(plain.structure.unravel(position)["tau"])
    np.testing.assert_allclose(prior.scale[1:, 0], tau * COVARIATE[1:], rtol=1e-5)


INFORMATION = np.array([0.2, 1.0, 5.0])
"""Of the rows of a Gaussian model on their latents, with a scale of 1."""


def test_integers_as_parameters_of_a_prior():
    """`Normal(0, tau)` and `Normal(0, 1)` are those of 0.0 and 1.0."""

    def of(zero, one):
        def model(y, batch=None):
            tau = numpyro.sample("tau", dist.HalfNormal(1.0))
            with numpyro.plate("rows", len(y), subsample_size=batch) as i:
                a = numpyro.sample("a", dist.Normal(zero, tau))
                x = numpyro.sample("x", dist.Normal(zero, one))
                numpyro.sample("y", dist.Normal(a + tau * x, 1.0), obs=y[i])

        weights = {"a": of_each_row(), "x": of_each_row()}
        potential = joint(model, Y, 2, weights=weights)
        return jax.jit(potential.prior)(*at(potential))

    for one, other in zip(of(0, 1), of(0.0, 1.0), strict=True):
        np.testing.assert_array_equal(one, other)


FORMS = {"centred": 1.0, "non-centred": 0.0, "between": np.array([0.9, 0.4, 0.3])}


@pytest.mark.parametrize("form", FORMS)
def test_the_rate_of_a_location_is_that_of_a_gibbs_sampler(form):
    """Exact: one less the eigenvalue of its linear recursion, with a flat prior of the location.

    Coordinates are x = a - (1 - c) m, and data y = a + noise. Given m, x has the mean
    R y + (c - R) m and the variance 1 - R. Given x, m has the precision of the likelihood,
    i (1 - c)^2, and of the prior of x, c^2, and a mean that is linear in x.
    """
    c = np.broadcast_to(FORMS[form], 3)
    shares = INFORMATION / (1 + INFORMATION)
    weights = np.stack([c, c], axis=-1)[:, None]
    found = relaxation_rate(Effect("a", True, False), shares[:, None], weights)
    # d/dm of log p: sum of i (1 - c) (y - x - (1 - c) m) + c (x - c m).
    precision = np.sum(INFORMATION * (1 - c) ** 2 + c**2)
    of_x = (c - INFORMATION * (1 - c)) / precision
    np.testing.assert_allclose(found, 1 - np.sum(of_x * (c - shares)))


@pytest.mark.parametrize("b", [1.0, 0.0, 0.4])
def test_the_rate_of_a_scale_is_a_ratio_of_fisher_information(b):
    """Expected second derivatives in log s, by quadrature over data and latents."""
    information, scale = 2.0, 0.7
    x, w = np.polynomial.hermite_e.hermegauss(40)
    w = w / w.sum()
    e, noise = np.meshgrid(x, x)
    weight = np.outer(w, w)
    y = scale * e + noise / np.sqrt(information)
    coordinate = scale**b * e  # of a = scale * e

    def expected(log_density):
        second = jax.vmap(lambda y, u: jax.grad(jax.grad(log_density))(jnp.log(scale), y, u))(
            jnp.ravel(jnp.asarray(y)), jnp.ravel(jnp.asarray(coordinate))
        )
        return -float(np.sum(np.ravel(weight) * np.asarray(second)))

    def data(t, y, u):
        variance = jnp.exp(2 * t) + 1 / information
        return -jnp.log(variance) / 2 - y**2 / variance / 2

    def both(t, y, u):
        a = jnp.exp((1 - b) * t) * u
        return -b * t - u**2 * jnp.exp(-2 * b * t) / 2 - information * (y - a) ** 2 / 2

    share = np.array([[information * scale**2 / (1 + information * scale**2)]])
    found = relaxation_rate(Effect("a", False, True), share, np.full((1, 1, 2), b))
    np.testing.assert_allclose(found, expected(data) / expected(both), rtol=1e-4)


@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize("moves", [(True, False), (False, True)])
def test_no_other_weights_relax_faster(moves, alike):
    """Of one number of rows with different shares, by small changes of each weight."""
    effect = Effect("a", *moves)
    shares = np.array([[0.1], [0.5], [0.9]])
    best = best_weights(effect, shares, alike)
    assert best.shape == (1 if alike else 3, 1, 2)
    rate = relaxation_rate(effect, shares, best)
    for place in np.ndindex(*best.shape):
        for change in (-0.02, 0.02):
            other = best.copy()
            other[place] += change
            assert relaxation_rate(effect, shares, other) <= rate
    assert rate > relaxation_rate(effect, shares, np.ones((1, 1, 2)))
    assert rate > relaxation_rate(effect, shares, np.zeros((1, 1, 2)))


def test_the_slowest_number_of_a_row_counts():
    shares, weights = np.array([[0.9, 0.1], [0.9, 0.1]]), np.ones((1, 1, 2))
    effect = Effect("a", True, True)
    each = [relaxation_rate(effect, shares[:, place : place + 1], weights) for place in (0, 1)]
    assert relaxation_rate(effect, shares, np.ones((1, 2, 2))) == min(each) < max(each)


def test_shares_at_a_small_scale():
    """The information i s^2 two standard deviations of log s below; all of it with many rows."""
    shares = np.full((4, 1), 0.5)
    found = at_a_small_scale(shares, rows=200)  # The information on log s is 2 / 4 x 200.
    known = np.exp(-4 / np.sqrt(100))
    np.testing.assert_allclose(found, known / (1 + known))
    np.testing.assert_allclose(at_a_small_scale(shares, rows=10**12), shares, rtol=1e-5)


def test_laplace_approximations_follow_the_coordinates():
    """The mode of a Gaussian row in coordinates, and its factor, are those of its values moved."""
    weights = {"a": jnp.zeros((len(Y), 2))}
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
