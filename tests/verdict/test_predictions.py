"""Functions that symmetries leave alone: they may be known where single parameters are not."""

import arviz as az
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import MCMC

from numpyro_sgmcmc import SGLD, diagnose
from numpyro_sgmcmc.verdict import predictions
from tests.verdict.draws import independent, scales, verdict

ROWS, CHAINS, DRAWS = 300, 4, 500


def product(y):
    """The likelihood knows the product of a and b alone, so that both signs may change."""
    a = numpyro.sample("a", dist.Normal(0, 2))
    b = numpyro.sample("b", dist.Normal(0, 2))
    with numpyro.plate("rows", ROWS, subsample_size=30) as i:
        numpyro.sample("y", dist.Normal(a * b, 1.0), obs=y[i])


def classes(label):
    logits = numpyro.sample("logits", dist.Normal(0, 1).expand([3]).to_event(1))
    with numpyro.plate("rows", ROWS, subsample_size=30) as i:
        numpyro.sample("label", dist.CategoricalLogits(logits), obs=label[i])


def _near(rng, centres, width):
    """Draws about each chain's centre."""
    return np.asarray(centres)[:, None] + width * rng.normal(size=(CHAINS, DRAWS))


def _product_verdict(a, b, width=0.05):
    rng = np.random.default_rng(0)
    y = jnp.asarray(2.0 + rng.normal(size=ROWS))
    a, b = _near(rng, a, width), _near(rng, b, width)
    return verdict(product, (y,), a, site="a", others={"b": b})


def test_predictions_mix_where_parameters_cannot():
    found = _product_verdict([2, -2, 2, -2], [1, -1, 1, -1])
    assert not found.calibrated
    assert found.sites["r_hat"].max() > 1.5
    assert found.predictions_mix
    assert "Predictions do mix" in found.sentence
    # 2,000 draws of one number; ArviZ's bulk ESS of independent ones is within a quarter of them.
    assert found.predictions.loc["fitted value of 'y'", "ess_bulk"] > 1_500


def test_predictions_that_differ_between_chains_do_not_mix():
    found = _product_verdict([2, -2, 2, 2], [1, -1, 1, 1.5])
    assert not found.predictions_mix
    assert "Predictions do not mix either" in found.sentence


def test_predictions_of_chains_that_are_stuck_are_not_called_mixing():
    found = _product_verdict([2, 2, 2, 2], [1, 1, 1, 1], width=0.0)
    assert found.predictions is None and found.predictions_mix is None
    assert "Predictions do mix" not in found.sentence


def test_a_run_whose_parameters_mix_says_nothing_of_it():
    x = independent(np.random.default_rng(0), (4, 1_250, 3))
    found = verdict(scales, (jnp.ones(3),), x)
    assert found.calibrated
    assert found.predictions is None
    assert found.predictions_mix is None


def test_functions_are_evaluated_at_some_of_the_draws_of_a_long_chain(monkeypatch):
    x = independent(np.random.default_rng(0), (4, 1_250, 3))
    asked = {"functions": {"first": lambda draw: draw["z"][0]}}
    every = verdict(scales, (jnp.ones(3),), x, **asked)
    monkeypatch.setattr(predictions, "COMPARED", 500)
    some = verdict(scales, (jnp.ones(3),), x, **asked)
    for found, used in ((every, x[..., 0]), (some, x[:, ::3, 0])):
        assert found.predictions.loc["first", "ess_bulk"] == pytest.approx(float(az.ess(used)))


def test_functions_of_the_user():
    """Of a linear function theory says what it says of a coordinate."""
    x = independent(np.random.default_rng(0), (4, 1_250, 3))
    functions = {
        "first": lambda draw: draw["z"][0],
        "sum": lambda draw: draw["z"].sum(),
        "square": lambda draw: draw["z"] ** 2,
    }
    kernel = SGLD(scales, 0.2)
    found = verdict(scales, (jnp.ones(3),), x, kernel=kernel, functions=functions)
    assert list(found.predictions.index) == ["first", "sum", "square"]
    expected = found.sites.loc["z", "discretisation"]
    assert expected > 1e-4
    for name in ("first", "sum"):
        assert found.predictions.loc[name, "discretisation"] == pytest.approx(expected, rel=0.05)
    assert np.isnan(found.predictions.loc["square", "discretisation"])
    assert found.predictions.loc["first", "ess_bulk"] > 4_000


def test_the_same_function_under_another_name():
    def square(draw):
        return draw["z"] ** 2

    x = independent(np.random.default_rng(0), (4, 100, 3))
    for name in ("one", "other"):
        found = verdict(scales, (jnp.ones(3),), x, functions={name: square})
        assert list(found.predictions.index) == [name]


@pytest.mark.long
def test_classes_have_no_fitted_value():
    rng = np.random.default_rng(0)
    label = jnp.asarray(rng.integers(3, size=ROWS))
    draws = 0.1 * rng.normal(size=(CHAINS, DRAWS, 3))
    found = verdict(classes, (label,), draws, site="logits")
    assert list(found.predictions.index) == ["log likelihood of 'label'"]


def test_gradient_noise_of_a_prediction_is_that_of_its_only_parameter():
    """y ~ N(m, 1): a fitted value is m itself."""

    def model(y):
        m = numpyro.sample("m", dist.Normal(0, 10))
        with numpyro.plate("rows", ROWS, subsample_size=10) as i:
            numpyro.sample("y", dist.Normal(m, 1.0), obs=y[i])

    y = jnp.asarray(np.random.default_rng(0).normal(size=ROWS))
    mcmc = MCMC(
        SGLD(model, 2e-4, num_steps=20),
        num_warmup=100,
        num_samples=1_000,
        num_chains=4,
        chain_method="vectorized",
        progress_bar=False,
    )
    mcmc.run(jax.random.key(0), y)
    found = diagnose(mcmc)
    inflation = found.sites.loc["m", "noise_inflation"]
    assert inflation > 0.2
    fitted = found.predictions.loc["fitted value of 'y'", "noise_inflation"]
    assert fitted == pytest.approx(inflation, rel=1e-3)
