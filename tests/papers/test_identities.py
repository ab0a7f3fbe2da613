"""The identities that check the runs of Brosse et al. (2018), by quadrature and enumeration."""

from itertools import product

import numpy as np

from benchmarks.papers import logistic
from benchmarks.papers.delay_law import stationary_variances
from benchmarks.papers.gaussian import setting
from benchmarks.papers.p004_demanded import Excess, excess
from benchmarks.papers.p004_flights import Rows
from benchmarks.papers.p004_scores import chances, loss
from tests.oracles import stale
from tests.oracles.linear import Noise
from tests.oracles.recursion import langevin, stationary_covariance

ROWS = 30


def test_a_nonlinear_chain_has_the_trace_that_stationarity_demands():
    """The invariant density of Langevin Monte Carlo on a grid, by power iteration."""
    x, y = logistic.simulate(ROWS, 2)
    local = logistic.expand(x, y)
    h = 1 / (1 + np.linalg.eigvalsh(x.T @ x).max() / 4)
    scale = 8.5 * np.sqrt(np.linalg.eigvalsh(np.linalg.inv(local.hessian)).max())
    axis = np.linspace(-scale, scale, 41)
    away = np.array(list(product(axis, axis)))
    pull = logistic.gradient(x, y, away + local.mode)
    aim = away - h * pull
    kernel = np.exp(-((away[:, None] - aim[None]) ** 2).sum(-1) / (4 * h))
    kernel /= kernel.sum(0)
    density = np.full(len(away), 1 / len(away))
    for _ in range(60):
        density = kernel @ density
    demanded = local.balance(h, away, pull, np.zeros((len(away), 2, 2)), 1.0)
    trace = density @ (away**2).sum(1)
    linear = np.trace(local.covariance(h, local.noise("LMC"), 1.0))
    np.testing.assert_allclose(density @ demanded, trace, rtol=1e-6)
    assert abs(linear / trace - 1) > 0.02  # so it is not the linear theory that is tested
    # E grad U = 0: the distance's identity.
    shift = density @ (away - np.linalg.solve(local.hessian, pull.T).T)
    np.testing.assert_allclose(shift, density @ away, rtol=1e-6)


def test_on_a_quadratic_the_balance_is_the_lyapunov_equation():
    rng = np.random.default_rng(0)
    root, h, temperature = rng.normal(size=(2, 2)), 0.05, 0.7
    hessian, away = np.eye(2) + root @ root.T, rng.normal(size=(5, 2))
    constant = rng.normal(size=(40, 2))
    noise = Noise(constant - constant.mean(0), np.zeros((40, 2, 2)), 0.5)
    local = logistic.Local(np.zeros(2), hessian, np.zeros((2, 2, 2)), constant, noise.linear)
    covariance = stationary_covariance(langevin(h, np.eye(2), 0.0), hessian, noise, h, temperature)
    at_mode = np.broadcast_to(noise.at_mode, (5, 2, 2))
    balance = local.balance(h, away, away @ hessian, at_mode, temperature)
    np.testing.assert_allclose(balance, np.trace(covariance), rtol=1e-12)


def test_gradient_noise_is_the_variance_over_all_rows():
    x, y = logistic.simulate(ROWS, 2)
    theta, mode = np.array([[0.3, -0.2]]), logistic.expand(x, y).mode

    def row_gradients(t):
        # ROWS times the likelihood's part, as a minibatch of one row has it.
        return ROWS * np.array(
            [logistic.gradient(r[None], v[None], t[None])[0] - t for r, v in zip(x, y, strict=True)]
        )

    plain = row_gradients(theta[0])
    for anchor, gradients in [(None, plain), (mode, plain - row_gradients(mode))]:
        exact = np.cov(gradients.T, ddof=0) / logistic.BATCH
        found = logistic.gradient_noise(x, y, theta, anchor)[0]
        np.testing.assert_allclose(found, exact, rtol=1e-9)


def test_the_matrix_that_stationarity_demands_has_the_trace_of_the_balance():
    x, y = logistic.simulate(ROWS, 2)
    local, h = logistic.expand(x, y), 1 / ROWS
    away = np.random.default_rng(2).normal(size=(6, 2))
    found = excess(
        Rows(x, y, x, y), local.hessian, local.mode, (local.mode + away)[None], True, 0.7
    )
    pull = logistic.gradient(x, y, local.mode + away)
    noise = logistic.gradient_noise(x, y, local.mode + away, local.mode)
    demanded = local.balance(h, away, pull, noise, 0.7).mean()
    np.testing.assert_allclose(
        np.trace(found.second[0]), (away**2).sum(1).mean() - demanded, rtol=1e-9
    )
    np.testing.assert_allclose(local.hessian @ found.first[0], pull.mean(0), rtol=1e-9)


def test_scores_lose_their_terms_of_first_and_second_order():
    """Along a direction v, by differences in double precision."""
    x, y = logistic.simulate(ROWS, 2)
    rows, mode = Rows(x, y, x, y), np.array([0.4, -0.9])
    v, t = np.array([[1.0, -0.5], [0.3, 0.8]]), 1e-3
    zero = Excess(v, np.einsum("ci,cj->cij", v, v))
    before, here, after = (chances(rows.signed, mode + s * v) for s in (-t, 0.0, t))
    pairs = [
        ((before, here, after), zero.of_chances(rows.signed, mode)),
        (map(loss, (before, here, after)), zero.of_losses(rows.signed, mode)),
    ]
    for (low, middle, high), part in pairs:
        differences = (high - low) / (2 * t) + (high - 2 * middle + low) / (2 * t**2)
        # Third and fourth derivatives times t^2, of order 1e-6.
        np.testing.assert_allclose(part, differences, atol=1e-5)
        assert np.abs(part).max() > 0.1


def test_averages_of_old_gradients_have_the_variance_of_the_recursion():
    """One step is the position itself; many steps of fresh gradients are an autoregression."""
    post, h, batch = setting(), 1e-4, 10
    noise = float(post.gradient_noise(batch, replace=False).at_mode[0, 0])
    for delay in (0, 3):
        one = stationary_variances(delay, h, batch, 1)
        expected = post.variance * stale.relative(
            "langevin", h, 1 / post.variance, stale.fixed(delay), noise=noise
        )
        of_square = 2 * expected**2 + 4 * post.mean**2 * expected
        np.testing.assert_allclose(one, (expected, expected, of_square), rtol=1e-6)
    single, many, _ = stationary_variances(0, h, batch, 50)
    keep = (1 - h / post.variance) ** np.arange(50)
    weights = np.where(np.arange(50) > 0, 2.0, 1.0) * (50 - np.arange(50)) / 2500
    np.testing.assert_allclose(many, single * (weights @ keep), rtol=1e-6)
