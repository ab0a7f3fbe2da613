"""The verdict on runs with old gradients names the cause, and a warm-up allows for them."""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import MCMC

from numpyro_sgmcmc import (
    SGHMC,
    SGLD,
    Diagonal,
    SGHMCSplit,
    StaleGradient,
    diagnose,
)


def gaussian():
    numpyro.sample("a", dist.Normal(0.0, 1.0))


def run(kernel, samples=1_500, warmup=200):
    mcmc = MCMC(
        kernel, num_warmup=warmup, num_samples=samples, num_chains=4,
        chain_method="vectorized", progress_bar=False,
    )  # fmt: skip
    mcmc.run(jax.random.key(1), extra_fields=("z",))
    return mcmc


def test_the_cause_has_a_name_and_a_remedy():
    scale = {"preconditioner": Diagonal(jnp.ones(1)), "num_steps": 8}
    inner = SGHMCSplit(gaussian, 0.12, friction=1.5, **scale)
    found = diagnose(run(StaleGradient(inner, 3), samples=600))
    assert not found.calibrated
    assert 'Use remedy="curvature", step_size=' in found.sentence
    assert "3.0 transitions old on average, without a remedy" in found.sentence
    # The exact error, 1.5 / (1.5 - 0.36) and terms of higher order, follows from the recursion.
    assert found.sites.loc["a", "staleness"] == pytest.approx(0.145, abs=0.03)


@pytest.mark.parametrize("build", [SGLD, SGHMC])
def test_an_unstable_combination_is_not_calibrated(build):
    step_size = 0.3 if build is SGLD else 0.4
    friction = {} if build is SGLD else {"friction": 1.0}
    kernel = StaleGradient(build(gaussian, step_size, num_steps=4, **friction), 12)
    found = diagnose(run(kernel, samples=400, warmup=50))
    assert not found.calibrated


def test_the_warm_up_takes_a_step_that_the_ages_allow():
    plain = SGHMCSplit(gaussian)
    run(plain, samples=1)
    steps = {}
    for remedy in (None, "friction", "curvature"):
        kernel = StaleGradient(SGHMCSplit(gaussian), 3, remedy=remedy)
        if remedy is None:
            with pytest.warns(UserWarning, match="times smaller than fresh ones"):
                run(kernel, samples=1)
        else:
            run(kernel, samples=1)
        steps[remedy] = float(kernel.adaptation.step_size)
        assert kernel.num_steps == int(kernel.adaptation.num_steps)
    largest = float(plain.adaptation.step_size)
    assert steps[None] < steps["friction"] < steps["curvature"] * 1.01
    assert steps["curvature"] == pytest.approx(largest)
    # 3 h / (1.5 - 3 h) is 5 % at h = 0.024; factors are powers of 2^(1/4).
    assert 0.024 / 2**0.25 < steps[None] < 0.024 * 1.02
