"""Gradients at draws: nearly exact, unbiased, and within their budget of rows."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

from numpyro_sgmcmc import SGLD
from numpyro_sgmcmc.verdict import gradients as verdict_gradients
from numpyro_sgmcmc.verdict.gradients import gradients

GROUPS, ROWS, POINTS = 20, 2_000, 200
BUDGET = 2 * 3 * ROWS * (GROUPS + 1) + POINTS * 400
"""Of single rows: the Hessian of all rows, and some hundred rows for each point."""


def effects(group, y, log_link=False):
    with numpyro.plate("groups", GROUPS):
        effect = numpyro.sample("effect", dist.Normal(0.0, 1.0))
    level = numpyro.sample("level", dist.Normal(0.0, 1.0))
    with numpyro.plate("rows", ROWS, subsample_size=50) as rows:
        mean = level + effect[group[rows]]
        law = dist.Poisson(jnp.exp(mean)) if log_link else dist.Normal(mean, 1.0)
        numpyro.sample("y", law, obs=y[rows])


def prepared(log_link):
    """Return the target of the model, points near its posterior, and their centre."""
    group = jnp.arange(ROWS) % GROUPS
    y = jnp.asarray(np.random.default_rng(0).poisson(1.0, ROWS), float)
    kernel = SGLD(effects, 1e-4)
    kernel.init(jax.random.key(0), 0, None, (group, y), {"log_link": log_link})
    centre = jnp.zeros(GROUPS + 1)
    points = centre + 0.1 * jax.random.normal(jax.random.key(1), (POINTS, GROUPS + 1))
    return kernel.memory.target, points, centre


def of(target, points, centre, budget):
    return gradients(target, jax.random.key(2), points, centre, budget)


@pytest.fixture(scope="module", params=[False, True], ids=["gaussian", "poisson"])
def found(request):
    """Gradients of all rows, with the first order, and with the second, and the model's kind."""
    given = prepared(request.param)
    exact = of(*given, POINTS * ROWS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verdict_gradients, "DENSE", 0)
        first = of(*given, POINTS * 400)
    return exact, first, of(*given, BUDGET), request.param


def test_the_second_order_removes_the_noise_of_gradients_that_are_linear(found):
    exact, first, second, has_log_link = found
    exact, first, second = (x[:, :GROUPS] for x in (exact, first, second))
    noise = [np.mean((x - exact) ** 2) for x in (first, second)]
    typical = np.mean((exact - exact.mean(0)) ** 2)
    assert noise[0] > 0.02 * typical  # groups have few rows of a sample
    if has_log_link:
        assert noise[1] < 0.1 * noise[0]
    else:
        assert noise[1] < 1e-9 * typical


def test_gradients_of_some_rows_are_unbiased(found):
    exact, first, second, has_log_link = found
    if not has_log_link:  # nothing but rounding is left of the second order
        second = first
    for estimate in (first, second):
        errors = estimate - exact
        standard_error = errors.std(0, ddof=1) / np.sqrt(POINTS)
        # A false failure of one of 21 normal averages: 21 x 6e-5 = .0013 for each order.
        assert np.all(np.abs(errors.mean(0)) < 4 * standard_error)


def test_rows_stay_within_the_budget(monkeypatch):
    target, points, centre = prepared(False)
    seen = []
    random_rows = verdict_gradients.random_rows

    def counted(structure, key, rows):
        seen.append(rows)
        return random_rows(structure, key, rows)

    monkeypatch.setattr(verdict_gradients, "random_rows", counted)
    of(target, points, centre, BUDGET)
    hessian = 3 * ROWS * (GROUPS + 1)
    assert seen == [(BUDGET - hessian) // (2 * POINTS)]


def test_a_coordinate_without_rows_has_its_exact_gradient():
    """No row depends on the scale of a hierarchy: only rounding errors differ between samples.

    They are a linear function of the draws. A regression of the gradient on them took out a quarter
    of what scales of a few groups vary by.
    """

    def model(group, y):
        spread = numpyro.sample("spread", dist.HalfNormal(1.0))
        with numpyro.plate("groups", GROUPS):
            effect = numpyro.sample("effect", dist.Normal(0.0, spread))
        with numpyro.plate("rows", ROWS, subsample_size=50) as rows:
            law = dist.Poisson(jnp.exp(effect[group[rows]]))
            numpyro.sample("y", law, obs=y[rows])

    group = jnp.arange(ROWS) % GROUPS
    y = jnp.asarray(np.random.default_rng(0).poisson(1.0, ROWS), float)
    kernel = SGLD(model, 1e-4)
    kernel.init(jax.random.key(0), 0, None, (group, y), {})
    target, centre = kernel.memory.target, jnp.zeros(GROUPS + 1)
    points = centre.at[:-1].set(0.3) + 0.5 * jax.random.normal(jax.random.key(1), (POINTS, 21))
    exact = of(target, points, centre, POINTS * ROWS)
    found = of(target, points, centre, BUDGET)
    assert sorted(kernel.structure.prototype) == ["effect", "spread"]
    errors = (found - exact)[:, -1]
    assert np.abs(errors).max() < 1e-4 * np.abs(exact[:, -1]).max()
