"""The coordinates of many effects, and of effects that a model writes non-centred."""

import arviz
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import MCMC

from numpyro_sgmcmc import SGHMCSplit
from numpyro_sgmcmc.model import read_structure
from numpyro_sgmcmc.preparation import Target, informed
from numpyro_sgmcmc.preparation.informed import informed_fit
from numpyro_sgmcmc.preparation.locate import effects_of
from numpyro_sgmcmc.preparation.stiffness import least_stiff

GROUPS, NOISE = 310, 0.8
ERROR = jnp.array([0.02, 0.1, 0.4, 1.0, 3.0, 20.0])
EFFECT = jnp.array([1.6, -0.2, 0.9, 0.4, 2.2, 0.1])


def clinics(spread_of):
    """Return a model whose effects are written non-centred, in a product that no site names."""

    def model(effect, error):
        mean = numpyro.sample("mean", dist.Normal(0, 2))
        spread = numpyro.sample("spread", spread_of)
        with numpyro.plate("clinics", len(effect)):
            x = numpyro.sample("x", dist.Normal(0, 1))
            numpyro.sample("effect", dist.Normal(mean + spread * x, error), obs=effect)

    return model


def of_scale(scale_of):
    """Return a model of effects with a scale that depends on one number z."""

    def model(effect, error):
        scale = scale_of(numpyro.sample("z", dist.Normal(0, 1)))
        with numpyro.plate("clinics", len(effect)):
            x = numpyro.sample("x", dist.Normal(0, 1))
            numpyro.sample("effect", dist.Normal(scale * x, error), obs=effect)

    return model


def target_of(model, args=(EFFECT, ERROR)):
    kernel = SGHMCSplit(model)
    return Target(read_structure(model, args, {}), kernel.options.minibatch, args, {})


@pytest.mark.parametrize(
    ("scale_of", "expected"),
    [
        (jnp.exp, ("x",)),
        (lambda z: jnp.exp(-((10 * z) ** 2)), ("x",)),
        (lambda z: z, ()),
        (lambda z: 2 + 0 * z, ()),
    ],
    ids=["positive", "too small for its type at most positions", "of either sign", "constant"],
)
def test_the_scale_of_an_effect_is_positive_and_varies(scale_of, expected):
    target = target_of(of_scale(scale_of))
    start = jnp.zeros(target.structure.dimension)
    assert effects_of(target, jax.random.key(3), start) == expected


def fit_of(spread_of):
    target = target_of(clinics(spread_of))
    start = jnp.zeros(target.structure.dimension)
    return informed_fit(target, jax.random.key(0), start, ("x",))


def test_the_weight_follows_from_what_the_data_say():
    """It is the data's share i s^2 / (1 + i s^2) or more, where the scale is nearly known."""
    found = fit_of(dist.LogNormal(0, 0.2))
    information = 1 / np.asarray(ERROR, np.float64) ** 2
    weights = np.asarray(found.centring["x"])
    assert np.all(np.diff(weights) <= 0)  # Errors increase.
    assert np.all(weights >= information / (1 + information) - 0.05)
    assert np.all(weights[:3] == 1)
    assert np.all(weights[4:] < 0.6)
    assert 1 <= found.stiffest <= 1.25 * 1.05  # 1.25 times the least, which is up to 1.02 here.


def test_centred_effects_with_a_known_scale_stay_as_they_are():
    """Then the warm-up is that of the model as it is written."""

    def centred(effect, error):
        spread = numpyro.sample("spread", dist.LogNormal(0, 0.01))
        with numpyro.plate("clinics", len(effect)):
            effects = numpyro.sample("effects", dist.Normal(0, spread))
            numpyro.sample("effect", dist.Normal(effects, error), obs=effect)

    target = target_of(centred)
    start = jnp.zeros(target.structure.dimension)
    found = informed_fit(target, jax.random.key(0), start, ("effects",))
    assert found.centring is None
    assert found.stiffest == 0


def test_slack_takes_the_largest_weight_of_about_the_least_stiffness():
    rng = np.random.default_rng(0)
    information = np.array([0.1, 1.0, 10.0])
    log_scales = np.repeat(rng.normal(-0.5, 0.1, (4_000, 1)), 3, axis=1)
    least, few = (least_stiff(log_scales, information, slack) for slack in (1.0, 1.25))
    assert np.all(few.weights > least.weights)
    assert np.all(few.stiffness <= 1.25 * least.stiffness)
    above = np.minimum(few.weights + 0.025, 1)
    ends = [log_scales[:, 0].mean() + k * log_scales[:, 0].std() for k in (-7.5, 2.33)]
    for weight, bound, i in zip(above, 1.25 * least.stiffness, information, strict=True):
        curvature = lambda u: np.exp(-2 * weight * u) + i * np.exp(2 * (1 - weight) * u)  # noqa: B023, E731
        stiffness = max(map(curvature, ends)) * np.mean(1 / curvature(log_scales[:, 0]))
        assert weight == 1 or stiffness > bound


def test_a_fit_that_shows_no_scales_leaves_effects_as_they_are(monkeypatch):
    scales = informed._scales

    def lost(*given):
        values, log_scales = scales(*given)
        return values, jax.tree.map(lambda draws: draws * jnp.nan, log_scales)

    monkeypatch.setattr(informed, "_scales", lost)
    found = fit_of(dist.LogNormal(0, 0.2))
    assert found.centring is None
    assert found.stiffest == 0
    assert np.all(np.isfinite(found.approximation.centre))


def groups(is_centred):
    def model(group, response):
        mean = numpyro.sample("mean", dist.Normal(0, 2))
        spread = numpyro.sample("spread", dist.HalfNormal(1))
        if is_centred:
            prior = dist.Normal(mean, spread).expand([GROUPS]).to_event(1)
            effects = numpyro.sample("effects", prior)
        else:
            x = numpyro.sample("x", dist.Normal(0, 1).expand([GROUPS]).to_event(1))
            effects = numpyro.deterministic("effects", mean + spread * x)
        with numpyro.plate("rows", len(response), subsample_size=200) as i:
            numpyro.sample("y", dist.Normal(effects[group[i]], NOISE), obs=response[i])

    return model


def exact_moments(averages, size):
    """Return mean and standard deviation of log spread: given the spread, all else is Gaussian."""
    log_spread = np.linspace(-9, 1.5, 4_001)
    variance = np.exp(2 * log_spread) + NOISE**2 / size
    precision = len(averages) / variance + 1 / 2.0**2
    centre = averages.sum() / variance / precision
    square = np.sum(averages**2) / variance - precision * centre**2
    energy = square / 2 + len(averages) * np.log(variance) / 2 + np.log(precision) / 2
    energy += np.exp(2 * log_spread) / 2 - log_spread
    weights = np.exp(-(energy - energy.min()))
    weights /= weights.sum()
    mean = weights @ log_spread
    return mean, np.sqrt(weights @ (log_spread - mean) ** 2)


@pytest.mark.slow
@pytest.mark.minutes
@pytest.mark.parametrize("is_centred", [True, False], ids=["centred", "non-centred"])
@pytest.mark.parametrize(
    ("size", "spread", "num_samples"),
    # Near 0 a draw takes some 250 transitions.
    [(4, 0.05, 1_000), (40, 1.0, 2_000)],
    ids=["near 0", "determined"],
)
def test_the_law_of_the_spread_of_many_effects(is_centred, size, spread, num_samples):
    """Within a warm-up's tolerance and 5 Monte Carlo standard errors; false failures: 1e-6 each.

    Gradient noise and discretisation may move a mean by 0.05 standard deviations each. Rounding
    decides between 100 and 700 transitions a draw near 0. More than 1,024 give a warning.
    """
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(GROUPS), size)
    response = 0.5 + spread * rng.normal(size=GROUPS)[group] + NOISE * rng.normal(size=len(group))
    mcmc = MCMC(
        SGHMCSplit(groups(is_centred), max_num_steps=4_096),
        num_warmup=1_000,
        num_samples=num_samples,
        num_chains=4,
        chain_method="vectorized",
        progress_bar=False,
    )
    mcmc.run(jax.random.key(0), jnp.asarray(group), jnp.asarray(response, jnp.float32))
    mean, sd = exact_moments(response.reshape(GROUPS, size).mean(1), size)
    draws = np.log(np.asarray(mcmc.get_samples(group_by_chain=True)["spread"], np.float64))
    of_mean = float(arviz.mcse(draws, method="mean"))
    of_sd = float(arviz.mcse(draws, method="sd"))
    assert abs(draws.mean() - mean) < 0.1 * sd + 5 * of_mean
    assert abs(draws.std() - sd) < 0.05 * sd + 5 * of_sd
