"""Posteriors that are far from where a fit starts, or on scales far from 1."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.diagnostics import effective_sample_size
from numpyro.infer import MCMC

from numpyro_sgmcmc import SGHMCSplit, UniformMinibatch
from numpyro_sgmcmc.model import read_structure
from numpyro_sgmcmc.preparation import Target
from numpyro_sgmcmc.preparation.approach import approached, units_of
from numpyro_sgmcmc.preparation.locate import locate
from numpyro_sgmcmc.preparation.mean_field import mean_field

ROWS, NOISE = 2_000, 30.0
SCALES = np.array([1.0, 1e-4, 1e-2, 10.0, 1e4])


def regression(features, response):
    """Columns on scales from 10^-4 to 10^4; the first one is constant."""
    weights = numpyro.sample("weights", dist.Normal(0, 1e8).expand([len(SCALES)]).to_event(1))
    with numpyro.plate("rows", ROWS, subsample_size=100) as i:
        numpyro.sample("y", dist.Normal(features[i] @ weights, NOISE), obs=response[i])


def target_of(model, *args):
    args = tuple(jnp.asarray(x) for x in args)
    return Target(read_structure(model, args, {}), UniformMinibatch(), args, {})


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(ROWS, len(SCALES)))
    features[:, 0] = 1
    response = 1e5 + features @ [0, 20.0, -40, 30, 10] + NOISE * rng.normal(size=ROWS)
    return (features * SCALES).astype(np.float32), response.astype(np.float32)


@pytest.fixture(scope="module")
def law(data):
    """The exact mean and precision of the weights, whose prior is as good as flat."""
    features, response = (x.astype(np.float64) for x in data)
    precision = features.T @ features / NOISE**2
    return np.linalg.solve(precision, features.T @ response / NOISE**2), precision


def test_a_fit_arrives_within_a_standard_deviation(data, law):
    """Walkers start from the fit, so that its scales need a factor of 1.5. Without an approach the
    intercept alone is a hundred thousand standard deviations away."""
    target, key = target_of(regression, *data), jax.random.key(0)
    mean, precision = law
    scale = 1 / np.sqrt(np.diag(precision))
    start = jnp.zeros(len(SCALES))
    approach = approached(target, jax.random.key(1), start)
    assert approach is not None
    fit = mean_field(target, key, approach.position, units=approach.units).approximation
    assert np.max(np.abs(np.asarray(fit.centre) - mean) / scale) < 1
    assert np.max(np.abs(np.log(np.asarray(fit.spread.scale) / scale))) < np.log(1.5)
    without = mean_field(target, key, start).approximation
    assert np.max(np.abs(np.asarray(without.centre) - mean) / scale) > 1e4


def test_steps_are_the_same_in_any_units(data):
    """Both walks come to rest where noise decides signs, whatever the distance in first steps."""
    features, response = data
    factor = 2.0**8
    some = np.arange(1, len(SCALES))
    coarser = features.copy()
    coarser[:, some] *= factor

    def of(features):
        target = target_of(regression, features, response)
        found = approached(target, jax.random.key(1), jnp.zeros(len(SCALES)))
        assert found is not None
        return np.asarray(found.position)

    features64 = features.astype(np.float64)
    scale = NOISE / np.sqrt(np.sum(features64**2, axis=0))
    first, second = of(features), of(coarser)
    rest = np.sqrt(ROWS / 100)  # Where noise decides signs, in standard deviations.
    assert np.all(np.abs(first - second * np.append(1, np.full(4, factor))) < 4 * rest * scale)


def cliff(response):
    """A mean near 4 x 10^5, and no density from 4.05 x 10^5 on."""
    z = numpyro.sample("z", dist.Normal(0, 1e7))
    numpyro.factor("edge", jnp.sqrt(4.05e5 - z))
    with numpyro.plate("rows", len(response), subsample_size=100) as i:
        numpyro.sample("y", dist.Normal(z, 1e4), obs=response[i])


def test_steps_return_from_where_the_density_is_not_known():
    """Growing steps pass 4.05 x 10^5, where gradients are NaN. They rest where noise decides:
    10^4 / sqrt(100), of which 4 are allowed."""
    response = 4e5 + 1e4 * np.random.default_rng(2).normal(size=ROWS)
    target = target_of(cliff, np.asarray(response, np.float32))
    passed = []
    for key in jax.random.split(jax.random.key(0), 4):
        found = approached(target, key, jnp.zeros(1))
        assert found is not None
        passed.append(float(found.position[0]) - response.mean())
    assert np.max(np.abs(passed)) < 4 * 1e4 / np.sqrt(100)


def test_usual_scales_have_units_of_one():
    scale = np.array([1e-6, 1e-3, 0.1, 10.0, 1e5], np.float32)
    np.testing.assert_allclose(units_of(scale), [1e-3, 1, 1, 1, 1e4], rtol=1e-6)


def test_a_posterior_that_is_near_is_left_alone(data):
    features, response = data
    usual = features / SCALES.astype(np.float32), (response - 1e5) / 100
    target = target_of(regression, *usual)
    assert approached(target, jax.random.key(0), jnp.zeros(len(SCALES))) is None


def effects_of_groups(group, response, groups, far, spread):
    """Responses about `far`; the spread of the groups' effects is known if it is given."""
    mean = numpyro.sample("mean", dist.Normal(0, 10 * far))
    if spread is None:
        spread = numpyro.sample("spread", dist.HalfNormal(far))
    with numpyro.plate("groups", groups):
        effect = numpyro.sample("effect", dist.Normal(mean, spread))
    with numpyro.plate("rows", len(group), subsample_size=200) as i:
        numpyro.sample("y", dist.Normal(effect[group[i]], 0.3 * far), obs=response[i])


def grouped(groups, rows, far=1e6):
    rng = np.random.default_rng(1)
    group = rng.integers(0, groups, rows)
    effect = far * (1 + 0.2 * rng.normal(size=groups))
    response = effect[group] + 0.3 * far * rng.normal(size=rows)
    return jnp.asarray(group), jnp.asarray(response, jnp.float32)


def test_few_groups_far_away_are_located_in_the_model_s_form():
    """Each of 30 groups has 100 rows, which determine its effect: weights are near 1."""
    group, response = grouped(30, 3_000)

    def model(group, response):
        effects_of_groups(group, response, 30, 1e6, None)

    target = target_of(model, group, response)
    keys = jax.random.split(jax.random.key(2), 2)
    starts = jnp.zeros((2, target.structure.dimension))
    located = locate(target, keys[0], keys[1], starts, None, 1.0, may_recentre=True)
    chosen = target.partly_centred(located.centring)
    centre = chosen.run(_at, located.approximation.centre)
    means = np.array([np.mean(np.asarray(response)[np.asarray(group) == j]) for j in range(30)])
    error = 0.3e6 / np.sqrt(100)
    # Shrinkage by 2 % of 2e5 and the fit's own error are together below the standard error.
    assert np.max(np.abs(np.asarray(centre["effect"]) - means)) < error
    assert located.centring is None or np.all(np.asarray(located.centring["effect"]) > 0.5)


def _at(view, position):
    return view.structure.unravel(position)


@pytest.mark.slow
def test_many_groups_far_away_are_right_untuned():
    """A Gaussian of 311 dimensions. Means are allowed the 0.1 standard deviations of a calibrated
    run and 4 Monte Carlo standard errors, standard deviations 5 % and 4 errors. For 311 of each the
    false-failure rate is below 0.04, and less as none of them uses up its 0.1 or 5 %."""
    groups, far, spread = 310, 1e6, 2e5
    group, response = grouped(groups, 9_300, far)

    def model(group, response):
        effects_of_groups(group, response, groups, far, spread)

    count = np.bincount(np.asarray(group), minlength=groups)
    total = np.bincount(np.asarray(group), np.asarray(response, np.float64), groups)
    precision = np.zeros((groups + 1, groups + 1))
    precision[0, 0] = groups / spread**2 + 1 / (10 * far) ** 2
    precision[0, 1:] = precision[1:, 0] = -1 / spread**2
    precision[1:, 1:] = np.diag(1 / spread**2 + count / (0.3 * far) ** 2)
    covariance = np.linalg.inv(precision)
    mean = covariance @ np.append(0, total / (0.3 * far) ** 2)
    sd = np.sqrt(np.diag(covariance))
    mcmc = MCMC(
        SGHMCSplit(model),
        num_warmup=1_000,
        num_samples=1_000,
        num_chains=4,
        chain_method="vectorized",
        progress_bar=False,
    )
    mcmc.run(jax.random.key(0), group, response)
    found = mcmc.get_samples(group_by_chain=True)
    draws = np.concatenate([np.asarray(found["mean"])[..., None], found["effect"]], axis=-1)
    ess = effective_sample_size(draws)
    assert np.min(ess) > 400
    assert np.all(np.abs(draws.mean((0, 1)) - mean) / sd < 0.1 + 4 / np.sqrt(ess))
    assert np.all(np.abs(draws.std((0, 1)) / sd - 1) < 0.05 + 4 / np.sqrt(2 * ess))
