"""Chains in different modes are told from chains that are too short."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import MCMC
from scipy.signal import lfilter

import numpyro_sgmcmc as sg
from numpyro_sgmcmc.verdict.apart import chains_apart
from numpyro_sgmcmc.verdict.assessment import Cause, Outcome, more_draws
from numpyro_sgmcmc.verdict.sentence import sentence_of
from tests.verdict.test_outcomes import evidence

CHAINS, LENGTH = 4, 4_000


def draws_of(centres, keeps=0.9, seed=0):
    """Return chains about their centres, with autocorrelation `keeps`, in the second coordinate."""
    rng = np.random.default_rng(seed)
    found = rng.normal(size=(CHAINS, LENGTH, 2))
    noise = rng.normal(size=(CHAINS, LENGTH + 1_000)) * np.sqrt(1 - keeps**2)
    found[..., 1] = lfilter([1], [1, -keeps], noise)[:, 1_000:] + np.array(centres)[:, None]
    return found


def named(at):
    return "uv"[at]


def test_chains_that_stay_apart():
    found = chains_apart(draws_of([0, 0, 6, 0]), named)
    assert found is not None and found.site == "v"
    # A chain's mean has a standard error of sqrt(19 / 4,000) = 0.07; 5 of those of a difference.
    assert found.distance == pytest.approx(6, abs=0.5)


@pytest.mark.parametrize("centres", [[0, 0, 0, 0], [0, 0, 1, 0]], ids=["agree", "are near"])
def test_chains_about_one_mode_are_not_apart(centres):
    """A false alarm needs a distance of two deviations: 14 standard errors at least."""
    assert chains_apart(draws_of(centres), named) is None


def test_chains_on_their_way_are_too_short():
    """They come from different starts, and their halves differ by 3 deviations, 24 errors."""
    draws = draws_of([0, 0, 6, -6])
    draws[..., 1] *= np.linspace(1, 0, LENGTH)
    assert chains_apart(draws, named) is None


def test_few_draws_and_single_chains_tell_nothing():
    draws = draws_of([0, 0, 6, 0])
    assert chains_apart(draws[:, :60], named) is None
    assert chains_apart(draws[2:3], named) is None


def test_the_sentence_names_modes_and_asks_for_no_more_draws():
    apart = chains_apart(draws_of([0, 0, 6, 0]), named)
    given = {"r_hat": ("v", 2.5), "ess": ("v", 5.0)}
    for cause in (Cause.UNMIXED, Cause.SHORT):
        found = evidence(apart=apart, **given)
        sentence = sentence_of(Outcome.NOT_KNOWN, [cause], found)
        assert "sit in different modes" in sentence and "'v'" in sentence
        assert "too short" not in sentence and "more draws (in all" not in sentence
        assert more_draws(found, Outcome.NOT_KNOWN, [cause]) is None
        assert "too short" in sentence_of(Outcome.NOT_KNOWN, [cause], evidence(**given))


def mirrored(y, batch=20):
    """Effects of rows whose sign the data do not tell from that of their loading."""
    loading = numpyro.sample("loading", dist.Normal(0.0, 3.0))
    with numpyro.plate("rows", len(y), subsample_size=batch) as i:
        effect = numpyro.sample("effect", dist.Normal(0.0, 1.0))
        mean = loading * effect[:, None] * jnp.array([1.0, 1.0, 1.0])
        numpyro.sample("y", dist.Normal(mean, 0.5).to_event(1), obs=y[i])


def test_signs_of_latents_of_rows_are_modes():
    """Four walkers start with both signs (under the test's fixed keys), and none changes it."""
    rng = np.random.default_rng(1)
    effects = rng.normal(size=(100, 1))
    y = jnp.asarray(2 * effects + 0.5 * rng.normal(size=(100, 3)), jnp.float32)
    mcmc = MCMC(
        sg.SGHMCSplit(mirrored, 3e-4, friction=3.0, num_steps=10),
        num_warmup=100, num_samples=1_000, num_chains=4, chain_method="vectorized",
        progress_bar=False,
    )  # fmt: skip
    mcmc.run(jax.random.key(0), y)
    signs = np.sign(np.asarray(mcmc.get_samples(True)["loading"]))
    assert (signs == signs[:, :1]).all() and abs(signs[:, 0].sum()) < 4
    assert "sit in different modes" in sg.diagnose(mcmc).sentence
