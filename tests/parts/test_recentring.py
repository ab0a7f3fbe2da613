"""The choice of coordinates of effects, and runs in them."""

from dataclasses import replace

import arviz
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import MCMC

from numpyro_sgmcmc import (
    SGLD,
    ReplicaExchange,
    RichardsonRomberg,
    SGHMCSplit,
    StaleGradient,
    run,
    to_inference_data,
)
from numpyro_sgmcmc.gradient import FixedPoint
from numpyro_sgmcmc.model import read_structure
from numpyro_sgmcmc.preconditioner import Dense, Diagonal, Identity
from numpyro_sgmcmc.preparation import Approximation, Target
from numpyro_sgmcmc.preparation.locate import locate
from numpyro_sgmcmc.preparation.measure import curvature_at
from numpyro_sgmcmc.preparation.recentring import _draws, _information, linearised, moved
from numpyro_sgmcmc.preparation.stiffness import least_stiff
from numpyro_sgmcmc.preparation.straightening import straightened
from numpyro_sgmcmc.preparation.target import View
from tests.marks import briefly

EFFECT = jnp.array([1.6, -0.2, 0.9, 0.4, 2.2, 0.1])
ERROR = jnp.array([0.8, 1.1, 0.9, 1.4, 1.0, 0.7])


def clinics(effect, error):
    """Effects of few patients each, whose spread may be 0."""
    mean = numpyro.sample("mean", dist.Normal(0, 2))
    spread = numpyro.sample("spread", dist.HalfNormal(1))
    with numpyro.plate("clinics", len(effect)):
        effects = numpyro.sample("effects", dist.Normal(mean, spread))
        numpyro.sample("effect", dist.Normal(effects, error), obs=effect)


ARGS = EFFECT, ERROR


def target_of(model=clinics, args=ARGS):
    kernel = SGHMCSplit(model)
    return Target(read_structure(model, args, {}), kernel.options.minibatch, args, {})


def mcmc_of(kernel, num_samples=2_000, num_warmup=500):
    chains = {"num_chains": 4, "chain_method": "vectorized", "progress_bar": False}
    return MCMC(kernel, num_warmup=num_warmup, num_samples=num_samples, **chains)


@pytest.fixture(scope="module")
def finished():
    mcmc = mcmc_of(SGHMCSplit(clinics))
    mcmc.run(jax.random.key(0), *ARGS)
    return mcmc


def exact_moments():
    """Return mean and standard deviation of log spread: given the spread, the rest is Gaussian."""
    y, variance = np.asarray(EFFECT, np.float64), np.asarray(ERROR, np.float64) ** 2
    log_spread = np.linspace(-14, 3, 4_001)
    densities = []
    for spread in np.exp(log_spread):
        covariance = np.diag(variance + spread**2) + 2.0**2
        _, volume = np.linalg.slogdet(covariance)
        energy = y @ np.linalg.solve(covariance, y) + volume
        densities.append(-energy / 2 - spread**2 / 2 + np.log(spread))
    weights = np.exp(np.array(densities) - max(densities))
    weights /= weights.sum()
    mean = weights @ log_spread
    return mean, np.sqrt(weights @ (log_spread - mean) ** 2)


def test_the_law_of_a_spread_that_may_be_0(finished):
    """Within a warm-up's tolerance and 5 Monte Carlo standard errors; false failures: 1e-6."""
    mean, sd = exact_moments()
    draws = np.log(np.asarray(finished.get_samples(group_by_chain=True)["spread"], np.float64))
    of_mean = float(arviz.mcse(draws, method="mean"))
    of_sd = float(arviz.mcse(draws, method="sd"))
    assert abs(draws.mean() - mean) < 0.05 * sd + 5 * of_mean
    assert abs(draws.std() - sd) < 0.05 * sd + 5 * of_sd


def test_draws_are_those_of_the_sites_of_the_model(finished):
    assert set(finished.get_samples()) == {"mean", "spread", "effects"}
    assert finished.get_samples()["effects"].shape == (8_000, 6)


def test_weights_are_shown_in_words_and_numbers(finished):
    adaptation = finished.sampler.adaptation
    weights = np.asarray(adaptation.centring["effects"])
    assert weights.shape == (6,)
    assert np.all((weights >= 0) & (weights < 0.5))
    assert "between the non-centred (0) and the centred form (1): 'effects'" in str(adaptation)
    attributes = to_inference_data(finished, log_likelihood=False, verdict=False).posterior.attrs
    assert attributes["centring_effects"] == pytest.approx(weights.mean())


def test_a_run_that_goes_on_keeps_its_coordinates(finished):
    """Its state holds them, so that a kernel that has never run goes on with the same bits."""
    parts = mcmc_of(finished.sampler, 3), mcmc_of(SGHMCSplit(clinics), 2)
    parts[0].run(jax.random.key(0), *ARGS)
    parts[1].post_warmup_state = parts[0].last_state
    parts[1].run(parts[0].last_state.rng_key, *ARGS)
    joined = np.concatenate([p.get_samples(group_by_chain=True)["effects"] for p in parts], axis=1)
    whole = np.asarray(finished.get_samples(group_by_chain=True)["effects"])[:, :5]
    np.testing.assert_array_equal(joined, whole)


def test_a_folder_holds_the_coordinates(finished, tmp_path):
    once = mcmc_of(finished.sampler, 3)
    run(once, jax.random.key(0), *ARGS, folder=tmp_path / "run")
    again = mcmc_of(SGHMCSplit(clinics), 5)
    run(again, jax.random.key(0), *ARGS, folder=tmp_path / "run")
    whole = np.asarray(finished.get_samples(group_by_chain=True)["effects"])[:, :5]
    np.testing.assert_array_equal(again.get_samples(group_by_chain=True)["effects"], whole)


def test_chains_start_at_the_users_values():
    kernel = SGHMCSplit(clinics)
    start = {"mean": jnp.array(0.3), "spread": jnp.array(-0.7), "effects": jnp.linspace(-1, 1, 6)}
    state = kernel.init(jax.random.key(0), 0, start, ARGS, {})
    assert state.tuned.centring is not None
    for name, value in start.items():
        np.testing.assert_allclose(state.z[name], value, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "kernel",
    [
        SGHMCSplit(clinics, recentre=False),
        SGHMCSplit(clinics, 0.1),
        SGHMCSplit(clinics, temperature=0.5),
        SGHMCSplit(clinics, preconditioner=Identity()),
        SGHMCSplit(clinics, gradient=FixedPoint()),
        RichardsonRomberg(SGLD(clinics)),
        ReplicaExchange(SGHMCSplit(clinics), [1, 2]),
        StaleGradient(SGHMCSplit(clinics), 2),
    ],
    ids=lambda kernel: type(kernel).__name__,
)
def test_other_choices_belong_to_the_coordinates_of_the_model(kernel):
    assert not kernel.options.may_recentre
    assert SGHMCSplit(clinics).options.may_recentre


def test_effects_that_the_data_determine_stay_as_they_are():
    """Their posterior has a sound mode, and the warm-up is that of the model as it is written."""
    mcmc = mcmc_of(SGHMCSplit(clinics), 1, 20)
    mcmc.run(jax.random.key(0), jnp.linspace(-3, 3, 12), jnp.full(12, 0.05))
    assert mcmc.last_state.tuned.centring is None


def test_the_weight_follows_from_the_information():
    """Data that say everything ask for the centred form, and those that say nothing for the other.

    In between the weight is the one of least stiffness, found here by another search.
    """
    rng = np.random.default_rng(0)
    information = np.array([0.0, 0.1, 1.0, 10.0, 1e6])
    log_scales = np.repeat(rng.normal(-0.5, 0.6, (4_000, 1)), 5, axis=1)
    found, stiffest = least_stiff(log_scales, information)
    assert found[0] == 0
    assert found[-1] == 1
    assert np.all(np.diff(found) >= 0)

    def stiffness(weight, i):
        ends = [log_scales[:, 0].mean() + k * log_scales[:, 0].std() for k in (-7.5, 2.33)]
        curvature = lambda u: np.exp(-2 * weight * u) + i * np.exp(2 * (1 - weight) * u)  # noqa: E731
        return max(map(curvature, ends)) * np.mean(1 / curvature(log_scales[:, 0]))

    for weight, i, least in zip(found, information, stiffest, strict=True):
        others = [stiffness(other, i) for other in np.linspace(0, 1, 201)]
        assert stiffness(weight, i) == pytest.approx(least)
        assert least < 1.05 * min(others)


def test_draws_that_are_not_finite_choose_nothing(monkeypatch):
    """The warm-up goes on in the coordinates of the mean-field fit, with a positive step size."""

    def lost(*given):
        return jax.tree.map(lambda draws: draws * jnp.nan, _draws(*given))

    monkeypatch.setattr("numpyro_sgmcmc.preparation.recentring._draws", lost)
    kernel = SGHMCSplit(clinics)
    state = kernel.init(jax.random.key(0), 0, None, ARGS, {})
    assert np.all(np.asarray(state.tuned.centring["effects"]) > 0)
    assert 0 < float(state.step_size) < 1


def test_curvature_and_information_are_those_of_the_hessian():
    """Given the scale s, the curvature of a coordinate is s^(-2 c) + i s^(2 (1 - c))."""
    target, weight, spread = target_of(), 0.4, 0.6
    zeros = {"effects": jnp.zeros(6)}
    values = {"mean": jnp.array(0.2), "spread": jnp.log(spread), "effects": jnp.ones(6) * 0.3}
    information = target.run(_information, values, zeros)["effects"]
    np.testing.assert_allclose(information, 1 / ERROR**2, rtol=1e-3)
    placed = target.partly_centred({"effects": jnp.full(6, weight)})
    position = placed.run(lambda view, z: view.structure.ravel(z), values, name="ravel")
    hessian = placed.run(View.second_order, position)[2]
    curvature = target.structure.by_site(jnp.diagonal(hessian))["effects"]
    expected = spread ** (-2 * weight) + spread ** (2 * (1 - weight)) / np.asarray(ERROR) ** 2
    np.testing.assert_allclose(curvature, expected, rtol=1e-3)


def test_correlations_are_those_of_the_other_coordinates():
    """Draws that hardly vary move linearly: their covariance is that of the map."""
    target, size = target_of(), target_of().structure.dimension
    before, after = ({"effects": jnp.full(6, c)} for c in (0.7, 0.1))
    factor = jnp.asarray(np.random.default_rng(0).normal(size=(size, size)), jnp.float32)
    shown = Approximation(jnp.linspace(-1.0, 1.0, size), Dense(1e-3 * factor))
    values, _ = target.partly_centred(before).run(_draws, shown, jax.random.key(0))
    points = np.asarray(target.partly_centred(after).run(moved, values), np.float64)
    spread = target.run(linearised, shown, before, after)
    y = (points - points.mean(0)) @ np.linalg.inv(np.asarray(spread.factor, np.float64)).T
    # Eigenvalues of 2,000 draws' covariance are within (1 +- (sqrt(8 / 2,000) + 5 / sqrt(2,000)))^2
    # with a probability of all but 1e-5 (Davidson and Szarek 2001); rounding adds 1e-3.
    found = np.linalg.eigvalsh(np.cov(y.T))
    error = np.sqrt(size / len(y)) + 5 / np.sqrt(len(y))
    assert (1 - error) ** 2 - 1e-3 < found[0] and found[-1] < (1 + error) ** 2 + 1e-3


KNOTS, WALK_ROWS = 24, 2_000


def walk_data():
    """A curve through knots, and the linear map from second differences to its rows."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, KNOTS - 1, WALK_ROWS))
    low = np.minimum(x.astype(int), KNOTS - 2)
    curve = np.cumsum(np.cumsum(np.eye(KNOTS), axis=0), axis=0)
    rows = (1 - (x - low))[:, None] * curve[low] + (x - low)[:, None] * curve[low + 1]
    y = 3 * np.sin(x / 3) + 0.4 * rng.normal(size=WALK_ROWS)
    return np.float32(rows), np.float32(y)


def walk(rows, y):
    """A random walk of second order, non-centred: its coefficients are correlated by 0.999."""
    scale = numpyro.sample("scale", dist.HalfNormal(0.5))
    z = numpyro.sample("z", dist.Normal(0, 1).expand([KNOTS]).to_event(1))
    with numpyro.plate("rows", WALK_ROWS, subsample_size=200) as i:
        numpyro.sample("y", dist.Normal(rows[i] @ (scale * z), 0.4), obs=y[i])


def walk_scaled_last(rows, y):
    """The same, with the scale outside of the sum."""
    scale = numpyro.sample("scale", dist.HalfNormal(0.5))
    z = numpyro.sample("z", dist.Normal(0, 1).expand([KNOTS]).to_event(1))
    with numpyro.plate("rows", WALK_ROWS, subsample_size=200) as i:
        numpyro.sample("y", dist.Normal(scale * (rows[i] @ z), 0.4), obs=y[i])


def test_a_map_of_scales_alone_has_correlations_in_other_coordinates():
    """A fit whose Hessian is not finite keeps such a map."""
    target, size = target_of(), target_of().structure.dimension
    scale, centre = jnp.linspace(0.5, 2.0, size), jnp.linspace(-1.0, 1.0, size)
    after = {"effects": jnp.full(6, 0.3)}
    found = [
        target.run(linearised, Approximation(centre, spread), None, after, name=type(spread))
        for spread in (Diagonal(scale), Dense(jnp.diag(scale)))
    ]
    np.testing.assert_allclose(found[0].factor, found[1].factor, rtol=1e-6)


def walk_target(rows, y, model=walk):
    return target_of(model, (jnp.asarray(rows), jnp.asarray(y)))


def located_at(target):
    """A mode of a model whose effects are those of `target`, from a start at 0."""
    keys, start = (jax.random.key(0), jax.random.key(1)), jnp.zeros((1, target.structure.dimension))
    return locate(target, *keys, start, None, 1.0, may_recentre=True)


@pytest.mark.parametrize("model", briefly([walk, walk_scaled_last], [walk_scaled_last]))
def test_a_bent_posterior_moves_in_the_form_in_which_it_is_straight(model):
    """The centred form of the walk is Gaussian given its scale."""
    target = walk_target(*walk_data(), model)
    located = located_at(target)
    assert located.centring is None
    found = straightened(target, jax.random.key(0), located)
    np.testing.assert_array_equal(found.centring["z"], np.ones(KNOTS))
    chosen = target.partly_centred(found.centring)
    points = found.approximation.draw(jax.random.key(1), 16)
    inputs = found.approximation.spread, points, jax.random.key(2)
    assert float(chosen.run(curvature_at, *inputs).largest) < 3
    bent = located.approximation.draw(jax.random.key(1), 16)
    inputs = located.approximation.spread, bent, jax.random.key(2)
    assert float(target.run(curvature_at, *inputs).largest) > 6


def test_a_posterior_that_is_straight_stays_in_the_form_of_the_model():
    """Rows with large errors tell so little of the walk that its non-centred form is a Gaussian."""
    rows, y = walk_data()
    target = walk_target(rows / 300, 0 * y)
    located = located_at(target)
    assert straightened(target, jax.random.key(0), located) is located


@pytest.mark.long
def test_the_law_of_a_random_walk_whose_scale_is_unknown():
    """Within a warm-up's tolerance and 5 Monte Carlo standard errors; false failures: 1e-6."""
    rows, y = walk_data()
    log_scale = np.linspace(-4, 2, 601)
    gram, right = (np.float64(rows.T) @ np.float64(a) / 0.16 for a in (rows, y))
    logs = []
    for scale in np.exp(log_scale):  # Given the scale, the rest is Gaussian.
        precision = scale**2 * gram + np.eye(KNOTS)
        fit = scale * right
        volume = np.linalg.slogdet(precision)[1]
        logs.append((fit @ np.linalg.solve(precision, fit) - volume) / 2 - 2 * scale**2)
    weights = np.exp(np.array(logs) + log_scale - max(logs))
    weights /= weights.sum()
    mean = weights @ log_scale
    sd = np.sqrt(weights @ (log_scale - mean) ** 2)
    mcmc = mcmc_of(SGHMCSplit(walk), 1_000, 1_000)
    mcmc.run(jax.random.key(0), jnp.asarray(rows), jnp.asarray(y))
    draws = np.log(np.asarray(mcmc.get_samples(group_by_chain=True)["scale"], np.float64))
    assert float(arviz.ess(draws)) > 400
    assert abs(draws.mean() - mean) < 0.05 * sd + 5 * float(arviz.mcse(draws, method="mean"))
    assert abs(draws.std() - sd) < 0.05 * sd + 5 * float(arviz.mcse(draws, method="sd"))


def test_targets_with_other_weights_share_their_programs():
    target = target_of()
    weights = [{"effects": jnp.full(6, c)} for c in (0.0, 0.5)]
    position = jnp.full(8, 0.5)
    found = [target.partly_centred(w).run(View.value_and_grad, position)[0] for w in weights]
    assert found[0] != found[1]
    program = target._programs[View.value_and_grad]
    assert program._cache_size() == 1
    assert replace(target, centring=None)._programs is target._programs
