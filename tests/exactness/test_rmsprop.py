"""RMSProp-preconditioned Langevin dynamics: its drift, and its distribution as h goes to 0.

The recursion is not linear, and its distribution has no closed form. Two step sizes are
extrapolated to h = 0 and compared with the exact posterior; the remaining bias is of second order.
Chains are independent. The false-failure rate is 6e-5 for a comparison; keys are fixed.
"""

from functools import partial

import arviz as az
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import MCMC

from numpyro_sgmcmc import SGLD, RichardsonRomberg, RMSProp, SGHMCSplit
from numpyro_sgmcmc.types import Minibatch
from tests.exactness.simulate import around, simulate
from tests.oracles import linear
from tests.oracles.monte_carlo import Z

CHAINS = 4_000


def normal(data):
    numpyro.sample("theta", dist.Normal(0.0, 1.0).expand([1]).to_event(1))


def second_moments(model, data, mode, covariance, preconditioner, h):
    """Return each chain's average of the second moments about the mode, (chains, d, d)."""
    kernel = SGLD(model, h, preconditioner=preconditioner)
    start = around(mode, covariance, CHAINS)
    steps = round(10 / h)
    (draws,) = simulate(kernel, data, chains=CHAINS, burn_in=steps, draws=steps, start=start)
    centred = np.asarray(draws, np.float64) - np.asarray(mode)
    return np.einsum("cni,cnj->cij", centred, centred) / centred.shape[1]


def scores(coarse, fine, covariance):
    """Return standardised deviations of 2 fine - coarse from the exact covariance."""
    estimate = 2 * fine.mean(0) - coarse.mean(0)
    error = np.sqrt((4 * fine.var(0, ddof=1) + coarse.var(0, ddof=1)) / CHAINS)
    return (estimate - covariance) / error


@pytest.mark.long
@pytest.mark.parametrize("with_drift", [True, False])
def test_standard_normal(with_drift, monkeypatch):
    """Without the drift the variance stays near 1.2 however small the step."""
    if not with_drift:
        monkeypatch.setattr(RMSProp, "drift", lambda self, state: None)
    run = partial(second_moments, normal, (jnp.zeros(1),), np.zeros(1), np.eye(1), RMSProp(0.9))
    score = scores(run(0.08), run(0.04), np.eye(1))[0, 0]
    assert abs(score) < Z if with_drift else score > 3 * Z


@pytest.mark.long
def test_correlated_posterior_with_minibatches():
    rng = np.random.default_rng(2)
    design = np.broadcast_to(np.array([[1.0, 0.5], [0.0, 0.6]]), (8, 2, 2)).copy()
    data = (design, rng.normal(size=(8, 2)), np.ones(2))
    exact = linear.posterior(*data)
    covariance = np.linalg.inv(exact.hessian)
    model = partial(linear.model, subsample_size=4)
    arrays = [jnp.asarray(x, jnp.float32) for x in data]
    run = partial(second_moments, model, arrays, exact.mode, covariance, RMSProp(0.8, 2.0))
    assert (np.abs(scores(run(0.04), run(0.02), covariance)) < Z).all()


def test_drift_is_the_divergence():
    """With V as a function of where the walker stays: T dG/dz by automatic differentiation."""
    scheme, potential = RMSProp(0.7, 0.3), lambda z, batch: jnp.sum(z**4) / 4 + z[0] * z[1] + z[1]
    signs = [jnp.array([a, b]) for a in (-1.0, 1.0) for b in (-1.0, 1.0)]

    def follow(z, sign):
        state = scheme.init(z, 0.5)
        for _ in range(3):
            gradient = jax.grad(potential)(z, Minibatch({}))
            state = scheme.update(state, potential, z, Minibatch({}), gradient, sign)
        return state

    def precision(z):
        return scheme.at(follow(z, signs[0])).scale ** 2

    z = jnp.array([0.8, -1.1])
    states = [jax.jit(follow)(z, sign) for sign in signs]
    slope = jnp.stack([state.slope for state in states]).mean(0)
    state = states[0]._replace(slope=slope)
    expected = 0.5 * jnp.diag(jax.jit(jax.jacfwd(precision))(z))
    np.testing.assert_allclose(scheme.drift(state), expected, rtol=1e-5)


def test_of_equal_gradients_the_mean_square_is_exact_from_the_first_on():
    """G_n = (1 - a^n) / (damping + |g|): nothing before a gradient, then without a start's bias."""
    scheme, slope = RMSProp(0.9, 2.0), jnp.array([3.0, -500.0])
    state = scheme.init(jnp.zeros(2), 1.0)
    for n in range(5):
        expected = (1 - 0.9**n) / (2.0 + np.abs(slope))
        np.testing.assert_allclose(scheme.at(state).scale ** 2, expected, rtol=1e-5)
        assert np.isfinite(scheme.drift(state)).all()
        state = scheme.update(
            state, lambda z, _: slope @ z, jnp.zeros(2), Minibatch({}), slope, jnp.ones(2)
        )


@pytest.mark.long
def test_tall_data_from_a_default_start():
    """Minibatches of 100 of 5,000 rows, gradients of the order of 10^4 at the start."""
    rng = np.random.default_rng(0)
    design = rng.normal(size=(5_000, 1, 2)) * np.array([1.0, 3.0])
    rows = design @ np.array([0.5, -0.2]) + rng.normal(size=(5_000, 1))
    exact = linear.posterior(design, rows, np.ones(1))
    kernel = SGLD(linear.model, 0.01, preconditioner=RMSProp())
    mcmc = MCMC(
        kernel,
        num_warmup=2_000,
        num_samples=4_000,
        num_chains=4,
        chain_method="vectorized",
        progress_bar=False,
    )
    mcmc.run(jax.random.key(0), *(jnp.asarray(x, jnp.float32) for x in (design, rows, [1.0])), 100)
    draws = np.asarray(mcmc.get_samples(group_by_chain=True)["theta"], np.float64)
    deviation = draws.std((0, 1))  # gradient noise widens it, but does not move the mean
    for place, mode in enumerate(exact.mode):
        ess = float(np.asarray(az.ess(draws[..., place])))
        assert ess > 100  # 4 where the first steps are the largest
        assert abs(draws[..., place].mean() - mode) < Z * deviation[place] / np.sqrt(ess)


def test_what_it_cannot_serve():
    with pytest.raises(TypeError, match="Expected Langevin dynamics with RMSProp"):
        SGHMCSplit(normal, 0.1, friction=1.0, preconditioner=RMSProp())
    with pytest.raises(ValueError, match="Expected a `step_size` with RMSProp"):
        SGLD(normal, preconditioner=RMSProp())
    for bad in ({"decay": 1.0}, {"decay": -0.1}, {"damping": 0.0}, {"damping": float("nan")}):
        with pytest.raises(ValueError, match=f"`{next(iter(bad))}`"):
            RMSProp(**bad)


@pytest.mark.long
def test_walkers_of_a_pair_have_their_own_squares():
    kernel = RichardsonRomberg(SGLD(normal, 0.1, preconditioner=RMSProp(0.9)))
    keys, args = jax.random.split(jax.random.key(0), 2), (jnp.zeros(1),)
    state = kernel.init(keys, 0, None, args, {})
    state = jax.jit(partial(kernel.sample, model_args=args, model_kwargs={}))(state)
    fine, coarse = state.preconditioner.square, state.coarse.preconditioner.square
    assert fine.shape == coarse.shape == (2, 1)
    assert (fine != coarse).all() and (fine > 0).all()
