"""Gradients of the marginal density of rows against integrals in double precision."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from scipy.special import logsumexp
from scipy.stats import t as student_t

from numpyro_sgmcmc.latents import first_state
from numpyro_sgmcmc.minibatch import UniformMinibatch
from numpyro_sgmcmc.model import read_structure, stochastic_potential
from numpyro_sgmcmc.preparation import Target
from numpyro_sgmcmc.verdict import with_latents
from numpyro_sgmcmc.verdict.row_integrals import cost_of, marginal_slopes, whole_slopes
from numpyro_sgmcmc.verdict.with_latents import marginal_gradients
from tests.latents.problem import binomial
from tests.marks import briefly

TRIALS = 5
COUNTS = np.random.default_rng(0).binomial(TRIALS, 0.7, 5_000).astype(np.float32)
"""More rows than a block has, and no whole number of blocks."""


def log_marginal(y, tau, b):
    """Return log p(y | z) of one row without the binomial coefficient, by the trapezoidal rule."""
    x = np.linspace(-12.0, 12.0, 4_001)
    logit = b + tau * x
    log = y * logit - TRIALS * np.logaddexp(0.0, logit) - x**2 / 2
    return np.log(np.sum(np.exp(log - log.max()))) + log.max()


def exact_slopes(z, successes=tuple(range(TRIALS + 1))):
    """Return the gradient of -log p(y | z) in z = (b, log tau), by central differences."""
    h, found = 1e-4, []
    for step in (np.array([h, 0.0]), np.array([0.0, h])):
        ends = []
        for b, log_tau in (z + step, z - step):
            ends.append([log_marginal(y, np.exp(log_tau), b) for y in successes])
        found.append(-(np.array(ends[0]) - np.array(ends[1])) / (2 * h))
    return np.stack(found, axis=1)


def bound(y, model=binomial, batch=10):
    structure = read_structure(model, (y, batch), {})
    return structure, stochastic_potential(structure, (y, batch), {})


@pytest.mark.parametrize("log_tau", briefly([-3.0, 0.0, 1.0], [1.0]))
def test_slopes_of_a_row(log_tau):
    """Every number of successes. The finer rule is the better one."""
    z = np.array([0.6, log_tau])
    _, potential = bound(jnp.arange(TRIALS + 1, dtype=jnp.float32), batch=2)

    def one(row):
        start, rows = jnp.zeros((1, 1)), row[None]
        position = jnp.asarray(z, jnp.float32)
        return marginal_slopes(potential, position, start, rows, jnp.ones(1))

    found = np.asarray(jax.jit(jax.vmap(one))(jnp.arange(TRIALS + 1)))
    # Rounding: gradients of the prior of a near tau = 0.05 are 20 times as large.
    np.testing.assert_allclose(found[:, 0], exact_slopes(z), atol=2e-4 * np.exp(max(-log_tau, 0)))
    np.testing.assert_allclose(found[:, 1], exact_slopes(z), atol=2e-2)


@pytest.mark.long
def test_the_sum_over_all_rows():
    z = np.array([0.6, -0.2])
    _, potential = bound(jnp.asarray(COUNTS))
    start = jnp.zeros((len(COUNTS), 1))
    found = jax.jit(lambda z: whole_slopes(potential, z, start))(jnp.asarray(z, jnp.float32))
    expected = exact_slopes(z)[COUNTS.astype(int)].sum(0)
    np.testing.assert_allclose(found[0], expected, rtol=1e-3, atol=0.5)


def pairs(y, batch=2):
    """Two correlated latents of each row; y_i ~ N(a_0 + a_1, 1) with a_j ~ N(z, 1)."""
    z = numpyro.sample("z", dist.Normal(jnp.zeros(1), 1.0).to_event(1))
    with numpyro.plate("rows", len(y), subsample_size=batch) as i:
        a = numpyro.sample("a", dist.Normal(z[0], 1.0).expand([2]).to_event(1))
        numpyro.sample("y", dist.Normal(a.sum(-1), 1.0), obs=y[i])


def test_two_latents_of_a_row():
    """The sum of y_i has the mean 2 z and the variance 3, so that the slope is -2 (y - 2 z) / 3."""
    y = jnp.array([-1.0, 0.5, 4.0])
    _, potential = bound(y, pairs, 2)
    z, start, rows = jnp.array([0.3]), jnp.zeros((3, 2)), jnp.arange(3)
    found = jax.jit(lambda counts: marginal_slopes(potential, z, start, rows, counts))
    expected = -2 * (np.asarray(y) - 0.6) / 3
    for counts in (np.ones(3), np.array([2.0, 0.0, 1.0])):
        np.testing.assert_allclose(
            found(jnp.asarray(counts)), np.full((2, 1), counts @ expected), rtol=1e-4
        )


def skewed(y, batch=2):
    """Two latents of each row whose densities are skewed; the second one has a wide prior."""
    z = numpyro.sample("z", dist.Normal(jnp.zeros(2), 1.0).to_event(1))
    with numpyro.plate("rows", len(y), subsample_size=batch) as i:
        a = numpyro.sample("a", dist.Normal(z[0], 1.0))
        c = numpyro.sample("c", dist.Normal(0.0, 2.0 * jnp.exp(z[1])))
        numpyro.sample("y", dist.Poisson(jnp.exp(a) + jnp.exp(c)), obs=y[i])


def test_two_skewed_latents_of_a_row():
    """Against a rule of 601 nodes over 12 prior standard deviations, in double precision.

    Six events may come from either latent, so that the last row has two modes. The difference
    between the rules must tell that neither is accurate there.
    """
    y, z, h = np.array([0.0, 1.0, 2.0, 6.0]), np.array([0.3, 0.2]), 1e-4
    x = np.linspace(-12.0, 12.0, 601)

    def log_marginal(z):
        rate = np.exp(z[0] + x)[:, None] + np.exp(2.0 * np.exp(z[1]) * x)
        log = y[:, None, None] * np.log(rate) - rate - x[:, None] ** 2 / 2 - x**2 / 2
        largest = log.max((1, 2), keepdims=True)
        return np.log(np.exp(log - largest).sum((1, 2))) + largest[:, 0, 0]

    ends = [[log_marginal(z + sign * step) for sign in (1, -1)] for step in np.eye(2) * h]
    exact = -np.array([(up - down) / (2 * h) for up, down in ends]).T
    _, potential = bound(jnp.asarray(y), skewed, 2)
    rows, start = jnp.arange(len(y)), jnp.zeros((len(y), 2))

    @jax.jit
    def of_each(z):
        return jax.lax.map(
            lambda row: marginal_slopes(potential, z, start[row[None]], row[None], jnp.ones(1)),
            rows,
        )

    found = np.asarray(of_each(jnp.asarray(z, jnp.float32)))
    errors = np.abs(found - exact[:, None])
    assert errors[:3, 0].max() < 3e-4 and errors[:3, 1].max() < 3e-3, errors
    gap = np.abs(found[3, 0] - found[3, 1])
    assert errors[3, 0].max() > 1e-2 and (gap > errors[3, 0]).all(), (gap, errors[3])


def heavy_tailed(y, batch=2):
    """Where data and prior disagree, a row's density is nearly flat between two places."""
    z = numpyro.sample("z", dist.Normal(jnp.zeros(1), 1.0).to_event(1))
    with numpyro.plate("rows", len(y), subsample_size=batch) as i:
        a = numpyro.sample("a", dist.StudentT(4.0, 0.0, jnp.exp(z[0])))
        numpyro.sample("y", dist.Normal(a, 1.0), obs=y[i])


def test_rows_whose_curvature_at_the_mode_says_nothing():
    """Near y = 4 it is 0: the row's latent is near 0 or near y, or between the two.

    Slopes in the log of the scale against a rule of 4,001 nodes in double precision. With scales
    from the curvature alone the largest error of a row is 1.1.
    """
    y, log_scale, h = np.arange(0.0, 8.0, 0.05), -0.93, 1e-4
    a = np.linspace(-60.0, 60.0, 4_001)

    def log_marginal(log_scale):
        log = -((y[:, None] - a) ** 2) / 2 + student_t.logpdf(a, 4.0, 0.0, np.exp(log_scale))
        return logsumexp(log, axis=1)

    exact = -(log_marginal(log_scale + h) - log_marginal(log_scale - h)) / (2 * h)
    _, potential = bound(jnp.asarray(y), heavy_tailed)
    rows, start = jnp.arange(len(y)), jnp.zeros((len(y), 1))

    @jax.jit
    def of_each(z):
        one = lambda row: marginal_slopes(potential, z, start[row[None]], row[None], jnp.ones(1))  # noqa: E731
        return jax.vmap(one)(rows)

    found = np.asarray(of_each(jnp.asarray([log_scale], jnp.float32)))[..., 0]
    errors, gap = np.abs(found - exact[:, None]), np.abs(found[:, 0] - found[:, 1])
    assert errors[:, 0].max() < 0.03, errors.max(0)
    worst = errors[:, 0] > 5e-3
    assert worst.any() and gap[worst].mean() > errors[worst, 0].mean()


@pytest.mark.long
def test_a_few_rows_at_each_point_give_the_gradient_of_all(monkeypatch):
    """At 200 points the mean error is within 4 standard errors, and the noise is small.

    Two comparisons fail by chance at a rate of 1.3e-4; 0.5 is the rounding of a sum over 5,000 rows
    in single precision. Without the control variate the error of 50 rows would be the standard
    deviation of a row's slope times 5,000 / sqrt(50). A fifth of it is allowed.

    Sixteen times the usual budget takes the same program, and leaves a quarter of the noise: the
    ratio of two standard deviations of 200 numbers has an error of 7 %, of which four are allowed.
    """
    y = jnp.asarray(COUNTS)
    structure, potential = bound(y)
    target = Target(structure, UniformMinibatch(), (y, 10), {})
    centre = np.array([0.6, -0.2])
    points = centre + 0.05 * np.random.default_rng(1).standard_normal((200, 2))
    zeros = jnp.zeros((len(y), 1))
    given = zeros, jnp.ones((len(y), 1, 1)), jnp.ones(()), structure.local.some_discrete(len(y))
    state = first_state(potential, jnp.asarray(centre, jnp.float32), *given)
    states = jax.tree.map(lambda leaf: leaf[None], state)
    inputs = [jnp.asarray(x, jnp.float32) for x in (points, centre)]
    usual = 50 * 2 * len(points) * cost_of(1)
    monkeypatch.setattr(with_latents, "GRADIENT_ROWS", usual)
    found = marginal_gradients(target, jax.random.key(2), *inputs, states, usual)
    programs = set(target._programs)
    more = marginal_gradients(target, jax.random.key(3), *inputs, states, 16 * usual)
    assert set(target._programs) == programs
    shared = np.asarray(jax.vmap(jax.grad(potential.shared))(jnp.asarray(points, jnp.float32)))
    share = np.bincount(COUNTS.astype(int), minlength=TRIALS + 1)
    exact = np.array([share @ exact_slopes(z) for z in points]) + shared
    errors = found.slopes - exact
    spread = errors.std(0, ddof=1)
    assert (np.abs(errors.mean(0)) < 4 * spread / np.sqrt(len(points)) + 0.5).all()
    np.testing.assert_allclose((more.slopes - exact).std(0, ddof=1), spread / 4, rtol=0.28)
    alone = exact_slopes(centre)[COUNTS.astype(int)].std(0) * len(COUNTS) / np.sqrt(50)
    assert (spread < 0.2 * alone).all()
    assert found.gap is not None and np.abs(found.gap).max() < 1e-2 * np.abs(exact).max()
