"""Several modes: the best is sampled, and the others are not left unsaid."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import MCMC, init_to_value

from numpyro_sgmcmc import SGHMCSplit, UniformMinibatch, diagnose
from numpyro_sgmcmc.model import read_structure
from numpyro_sgmcmc.preparation import Target
from numpyro_sgmcmc.preparation.locate import locate
from numpyro_sgmcmc.running import run_of
from numpyro_sgmcmc.verdict.run import finished_run
from numpyro_sgmcmc.verdict.unvisited import unvisited_mode
from tests.marks import briefly

ROWS = 40


def wells(shares, places, widths, rows):
    """A mixture of normal distributions along two coordinates; rows know nothing of them."""
    parts = dist.Normal(places, widths[:, None]).to_event(1)
    x = numpyro.sample("x", dist.MixtureSameFamily(dist.Categorical(shares), parts))
    level = numpyro.sample("level", dist.Normal(0, 1))
    with numpyro.plate("rows", ROWS, subsample_size=10) as i:
        numpyro.sample("y", dist.Normal(level + 0 * x[0], 1), obs=rows[i])


def arguments(shares, places, widths=(0.2, 0.2)):
    rows = jnp.asarray(np.random.default_rng(0).normal(size=ROWS), jnp.float32)
    return (*(jnp.asarray(a, jnp.float32) for a in (shares, places, widths)), rows)


def located(model, args, starts, temperature=1.0):
    target = Target(read_structure(model, args, {}), UniformMinibatch(), args, {})
    key, other = jax.random.key(0), jax.random.key(1)
    return locate(target, key, other, jnp.asarray(starts, jnp.float32), None, temperature)


APART = [[-1.0, 0.0], [1.0, 0.5]]


@pytest.mark.parametrize("first", briefly([-1.0, 1.0], [1.0]))
def test_the_best_mode_is_taken_from_whichever_start(first):
    """Both wells are normal and far apart, so that shares are exact up to rounding."""
    starts = [[0.0, first, 0.0], [0.0, -first, 0.0], [0.0, first, 0.4]]
    args = arguments([0.3, 0.7], APART)
    with pytest.warns(UserWarning, match="another mode.* 0.3 of the probability"):
        found = located(wells, args, starts)
    np.testing.assert_allclose(found.approximation.centre[1:], APART[1], atol=1e-2)
    others = found.other_modes
    assert others is not None
    np.testing.assert_allclose(others.positions[:, 1:], [APART[0]], atol=1e-2)
    np.testing.assert_allclose(others.shares, [0.3], atol=1e-3)


def test_a_share_is_of_a_volume_and_at_a_temperature():
    """A deeper well may hold less: p = w / (2 pi s^2); at T, shares go as w^(1/T) s^(2 - 2/T)."""
    starts = [[0.0, 1.0, 0.5], [0.0, -1.0, 0.0]]
    args = arguments([0.4, 0.6], APART, [0.05, 0.2])
    with pytest.warns(UserWarning, match="another mode"):
        found = located(wells, args, starts)
    np.testing.assert_allclose(found.other_modes.shares, [0.4], atol=2e-3)
    with pytest.warns(UserWarning, match="another mode"):
        warm = located(wells, args, starts, temperature=2.0)
    weights = np.array([0.4, 0.6]) ** 0.5 * np.array([0.05, 0.2])
    np.testing.assert_allclose(warm.other_modes.shares, weights[0] / weights.sum(), atol=2e-3)


def test_a_mode_that_changes_no_estimate_is_not_reported(recwarn):
    """A share of 1e-6 at 9 standard deviations changes a variance by 1e-4."""
    starts = [[0.0, -1.0, 0.0], [0.0, 1.0, 0.5]]
    found = located(wells, arguments([1e-6, 1 - 1e-6], APART), starts)
    assert found.other_modes is None
    np.testing.assert_allclose(found.approximation.centre[1:], APART[1], atol=1e-2)
    assert not recwarn.list


def test_one_mode_is_one_from_far_starts(recwarn):
    starts = [[0.0, 0.1, 0.0], [50.0, -80.0, 0.0], [-70.0, 0.0, 90.0], [5.0, 5.0, 5.0]]
    found = located(wells, arguments([0.5, 0.5], [[0.0, 0.0], [0.0, 0.0]]), starts)
    assert found.other_modes is None
    assert not recwarn.list


def run(model, args, strategy=None, draws=1_000):
    options = {} if strategy is None else {"init_strategy": strategy}
    kernel = SGHMCSplit(model, num_steps=4, **options)
    mcmc = MCMC(
        kernel,
        num_warmup=400,
        num_samples=draws,
        num_chains=2,
        chain_method="vectorized",
        progress_bar=False,
    )
    mcmc.run(jax.random.key(0), *args)
    return mcmc


@pytest.mark.long
def test_a_run_that_misses_a_mode_is_not_calibrated():
    with pytest.warns(UserWarning, match="another mode"):
        mcmc = run(wells, arguments([0.3, 0.7], APART))
    found = diagnose(mcmc)
    assert not found.calibrated
    assert found.sentence.startswith("Not calibrated: a mode with about 0.3 of the probability")
    assert "'x'" in found.sentence
    visits = finished_run(run_of(mcmc))
    missed = unvisited_mode(visits, str)
    assert missed is not None and missed.visits == 0
    # The same draws, a third of them carried to the other mode.
    finest = visits.walkers[0]
    moved = finest.draws.copy()
    moved[:, ::3, 1:] += np.asarray(APART[0]) - np.asarray(APART[1])
    both = visits._replace(walkers=(finest._replace(draws=moved),))
    assert unvisited_mode(both, str) is None


@pytest.mark.long
def test_a_mode_that_the_user_chose_is_the_only_one(recwarn):
    """A strategy that always starts at the same place chooses a mode, as labels of a mixture."""
    place = init_to_value(values={"x": jnp.asarray(APART[0]), "level": 0.0})
    mcmc = run(wells, arguments([0.3, 0.7], APART), place, draws=50)
    np.testing.assert_allclose(mcmc.get_samples()["x"].mean(0), APART[0], atol=0.2)
    assert mcmc.last_state.tuned.other_modes is None
