"""A verdict takes gradients of more rows before it asks for draws that would cost more."""

from functools import cache

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

from numpyro_sgmcmc import SGLD
from numpyro_sgmcmc.verdict import budget
from tests.verdict.draws import verdict

GROUPS, ROWS, BATCH, TRANSITIONS = 10, 1_000, 50, 100
CHAINS, DRAWS = 4, 1_000
STEP_SIZE = 1e-6
"""So small that theory finds nothing wrong."""


def model(group, y):
    with numpyro.plate("groups", GROUPS):
        effect = numpyro.sample("effect", dist.Normal(0.0, 1.0))
    with numpyro.plate("rows", ROWS, subsample_size=BATCH) as rows:
        numpyro.sample("y", dist.Normal(effect[group[rows]], 1.0), obs=y[rows])


@cache
def kernel():
    return SGLD(model, STEP_SIZE, num_steps=TRANSITIONS)


@pytest.fixture
def few_rows(monkeypatch):
    """A first look with 10 rows for each draw, one of each group."""
    monkeypatch.setattr(budget, "GRADIENT_ROWS", 10 * CHAINS * DRAWS)
    monkeypatch.setattr(budget, "SHARE_OF_RUN", 0.0)
    monkeypatch.setattr(budget, "ENOUGH_ROWS", 1)


def judged(scale=1.0):
    """The verdict on independent draws of the posterior, whose deviations are `scale` times it."""
    rng = np.random.default_rng(0)
    group = np.arange(ROWS) % GROUPS
    y = rng.normal(size=ROWS)
    precision = 1 + ROWS / GROUPS
    mean = np.bincount(group, y) / precision
    draws = mean + scale * rng.normal(size=(CHAINS, DRAWS, GROUPS)) / np.sqrt(precision)
    data = jnp.asarray(group), jnp.asarray(y, jnp.float32)
    draws = jnp.asarray(draws, jnp.float32)
    steps = {"step_size": np.full((CHAINS, DRAWS), STEP_SIZE)}
    return verdict(model, data, draws, site="effect", kernel=kernel(), walkers=steps)


def test_more_rows_decide_where_draws_are_not_missing(few_rows, monkeypatch):
    assert judged().calibrated
    monkeypatch.setattr(budget, "SHARE_OF_ADVICE", 0.0)
    once = judged()
    assert once.sentence.startswith("Not known yet: the standard deviation of 'effect'")
    assert once.more_draws > 0


def test_all_that_depends_on_gradients_is_found_again(few_rows, monkeypatch):
    """As if there had been one look with as many rows; it chooses other ones."""
    monkeypatch.setattr(budget, "SHARE_OF_ADVICE", 1e9)
    twice = judged()
    monkeypatch.setattr(budget, "GRADIENT_ROWS", CHAINS * DRAWS * ROWS)
    once = judged()
    assert twice.discrepancy == pytest.approx(once.discrepancy, rel=1e-4)
    assert twice.curvature == pytest.approx(once.curvature, rel=1e-4)


def test_more_rows_do_not_excuse_draws_that_are_wrong(few_rows):
    found = judged(scale=1.1)
    assert not found.calibrated
    assert found.sites.loc["effect", "sd_error"] == pytest.approx(0.1, abs=0.04)
    # Standard error of a deviation of 4,000 draws: .011. With exact gradients 3.6 of these.


@pytest.mark.parametrize(
    ("more", "granted"),
    [
        (0, 0),
        (8, 0),  # a quarter of their rows does not double the first look's
        (200, 5 * 200 * TRANSITIONS * BATCH // 20),
        (10**9, CHAINS * DRAWS * ROWS),  # those of all rows at all draws
    ],
)
def test_rows_that_are_granted(few_rows, more, granted):
    class Run:
        weights = np.ones((CHAINS, DRAWS))
        rows, rows_of_draw, granted_rows = ROWS, TRANSITIONS * BATCH, 0

    assert budget.rows_worth_granting(Run, more) == granted


def test_nothing_is_granted_where_gradients_are_exact(few_rows):
    class Run:
        weights = np.ones((CHAINS, DRAWS))
        rows, rows_of_draw, granted_rows = 10, TRANSITIONS * BATCH, 0

    assert budget.rows_worth_granting(Run, 10**9) == 0


def test_a_second_look_takes_at_most_a_third_of_what_the_run_took(few_rows):
    class Run:
        weights = np.ones((CHAINS, DRAWS))
        rows, rows_of_draw, granted_rows = 10**6, TRANSITIONS * BATCH, 0

    taken = CHAINS * DRAWS * TRANSITIONS * BATCH
    assert budget.rows_worth_granting(Run, 10**9) == taken // 3


@pytest.mark.parametrize(
    ("rows", "enough", "dimension", "granted"),
    [
        (300_000, 100_000.0, 20, True),
        (300_000, 1_000.0, 20, False),  # the first order has little noise
        (300_000, 30_000.0, 20, False),  # and here less than would need a second look
        (300_000, np.inf, 20, False),  # nothing is known of its noise
        (300_000, 100_000.0, 100, False),  # the Hessian would cost more than is granted
        (1_000, 100_000.0, 20, False),  # gradients are those of all rows
    ],
)
def test_a_first_look_that_would_only_ask_for_a_second_one_is_granted_its_rows(
    rows, enough, dimension, granted
):
    class Chains:
        draws = np.ones((CHAINS, DRAWS, dimension))

    class Run:
        weights, walkers = np.ones((CHAINS, DRAWS)), (Chains,)
        rows_of_draw, granted_rows, is_mixed = 1_000, 0, True

    Run.rows = rows
    found = budget.rows_for_hessian(Run, enough)
    assert found == (budget.SECOND_LOOK * budget.GRADIENT_ROWS if granted else 0)
