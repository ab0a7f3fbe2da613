"""What a draw costs, as far as a verdict and its advice depend on it."""

from dataclasses import replace
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import MCMC

from numpyro_sgmcmc import SGLD
from numpyro_sgmcmc.running import run_of
from numpyro_sgmcmc.verdict.run import finished_run


def model(y):
    mean = numpyro.sample("mean", dist.Normal(0.0, 1.0))
    with numpyro.plate("rows", y.size, subsample_size=10) as rows:
        numpyro.sample("y", dist.Normal(mean, 1.0), obs=y[rows])


def finished(num_chains=1, method="vectorized", per_transition=None):
    kernel = SGLD(model, 1e-3, num_steps=3)
    options = {"num_chains": num_chains, "chain_method": method, "thinning": 5}
    mcmc = MCMC(kernel, num_warmup=0, num_samples=20, progress_bar=False, **options)
    mcmc.run(jax.random.key(0), jnp.zeros(100))
    run = run_of(mcmc)
    if per_transition is not None:
        measured = SimpleNamespace(seconds_per_transition=per_transition, is_for_predictions=False)
        run = replace(run, adaptation=measured)
    return finished_run(run)


def test_a_draw_of_a_thinned_run_takes_all_transitions_since_the_last():
    run = finished()
    assert run.weights.size == 4
    assert run.rows_of_draw == 10 * 3 * 5
    assert run.seconds_of_draw is None  # nothing was measured


@pytest.mark.parametrize(
    ("backend", "num_chains", "method", "each"),
    [
        ("cpu", 4, "vectorized", 1 / 8),
        ("cpu", 2, "sequential", 1 / 8),
        ("gpu", 4, "vectorized", 1 / 4),
        ("gpu", 16, "vectorized", 1 / 8),
        ("gpu", 2, "sequential", 1.0),
    ],
)
def test_seconds_of_a_draw(monkeypatch, backend, num_chains, method, each):
    """From a transition of 8 walkers, 15 transitions a draw.

    A processor takes an eighth of it for each chain. An accelerator takes all of it for up to 8.
    """
    monkeypatch.setattr("numpyro_sgmcmc.verdict.run.jax.default_backend", lambda: backend)
    run = finished(num_chains, method, per_transition=0.2)
    assert run.seconds_of_draw == pytest.approx(0.2 * 15 * each)
