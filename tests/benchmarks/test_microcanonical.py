"""Microcanonical dynamics against exact variances, and their error under gradient noise."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.microcanonical.climb import Setting, climbed
from benchmarks.microcanonical.dynamics import Microcanonical
from benchmarks.microcanonical.page import PAGE, TABLE, Run, load, page, save, verdict

CURVATURE = jnp.linspace(0.5, 4.0, 32)
STEPS, CHAINS, STEP_SIZE, FRICTION = 4_000, 64, 0.25, 1.0


@cache
def relative_variances(loud: float, shared: bool):
    """Return relative errors of the stationary variances, and their standard errors, (d,).

    Args:
        loud: variance of the gradient noise.
        shared: whether all coordinates have it, or every other one.
    """
    dynamics = Microcanonical(FRICTION)
    count = CURVATURE.size
    noisy = jnp.ones(count) if shared else jnp.arange(count) % 2.0
    strength = jnp.sqrt(loud * noisy)

    def chain(key):
        key_start, key_momentum, key_steps = jax.random.split(key, 3)
        start = jax.random.normal(key_start, (count,)) / jnp.sqrt(CURVATURE)

        def step(carry, key):
            z, p = carry
            key_noise, key_increment = jax.random.split(key)
            query = z + dynamics.lookahead(p, STEP_SIZE, z)
            gradient = CURVATURE * query + strength * jax.random.normal(key_noise, (count,))
            increment = jnp.sqrt(STEP_SIZE) * jax.random.normal(key_increment, (count,))
            moved, p = dynamics.step(p, gradient, increment, jnp.asarray(STEP_SIZE))
            return (z + moved, p), (z + moved) ** 2

        first = start, dynamics.init(key_momentum, start, 1.0)
        (_, p), squares = jax.lax.scan(step, first, jax.random.split(key_steps, STEPS))
        return squares[STEPS // 10 :].mean(0), p @ p

    squares, lengths = jax.jit(jax.vmap(chain))(jax.random.split(jax.random.key(0), CHAINS))
    np.testing.assert_allclose(lengths, count, rtol=1e-5)
    each = np.asarray(CURVATURE * squares, float) - 1
    return each.mean(0), each.std(0, ddof=1) / np.sqrt(CHAINS)


@pytest.mark.parametrize(("loud", "shared"), [(0.0, True), (4.0, True)], ids=["exact", "shared"])
def test_variances_are_right_with_exact_gradients_and_with_noise_that_all_coordinates_share(
    loud, shared
):
    """The error is of second order: at most h^2 lambda / 4 of `Splitting`'s momentum.

    False failures: 32 coordinates at 4 standard errors, 2e-3 for a case. h V / (2 D) = .5 with
    `Splitting`.
    """
    error, standard_error = relative_variances(loud, shared)
    allowed = STEP_SIZE**2 * np.asarray(CURVATURE) / 4
    assert np.all(np.abs(error) < 4 * standard_error + allowed)


def test_noise_that_differs_makes_the_noisy_coordinates_too_wide_and_the_others_too_narrow():
    error, standard_error = relative_variances(4.0, False)
    noisy, quiet = error[1::2], error[::2]
    pooled = 4 * np.sqrt(np.mean(standard_error**2) / len(noisy))  # False failures: 6e-5 each.
    assert noisy.mean() > 0.1 + pooled
    assert quiet.mean() < -0.1 - pooled


def test_a_kick_is_the_flow_of_a_constant_gradient():
    """Against 20,000 Euler steps of dp = -d / (d - 1) (I - p p' / d) g dt, normalised."""
    key_p, key_g = jax.random.split(jax.random.key(1))
    dynamics, count = Microcanonical(0.0), 8
    p = dynamics.init(key_p, jnp.zeros(count), 1.0)
    g = 3 * jax.random.normal(key_g, (count,))
    h = 0.3
    moved, _ = dynamics.step(p, g, jnp.zeros(count), jnp.asarray(h))
    kicked = np.asarray(2 * moved / h - p, float)
    q, steps = np.asarray(p, float), 20_000
    force = -np.asarray(g, float) * count / (count - 1) * h / steps
    for _ in range(steps):
        q = q + force - q * (q @ force) / count
        q *= np.sqrt(count / (q @ q))
    # The error of Euler steps is of the order of the turn of one: 1e-4.
    np.testing.assert_allclose(kicked, q, atol=2e-3)


def run_of(dynamics, median_ess, right="yes", model="films"):
    return Run(model, dynamics, "adapted", 0.1, 1.0, 0.001, 0.0005, median_ess, 1.0, 1.01, right)


@pytest.mark.parametrize(
    ("ess", "said"),
    [(14.5, "microcanonical dynamics win"), (6.9, "splitting wins"), (14.0, "neither wins")],
)
def test_the_verdict_follows_from_the_best_right_settings(ess, said):
    """A wrong setting with more effective draws decides nothing."""
    runs = [
        run_of("splitting", 10.0),
        run_of("splitting", 90.0, "no"),
        run_of("microcanonical", ess),
        run_of("microcanonical", ess / 2),
        run_of("microcanonical", 99.0, model="digits"),
    ]
    assert said in verdict(runs, "films")
    assert "alone has a right setting" in verdict(runs, "digits")
    assert "none is right" in verdict([run_of("splitting", 1.0, "no")], "films")


def worth_at(h, friction):
    """Largest at h = 1 and D = 4, and wrong where h exceeds a quarter of D."""
    away = np.log(h) ** 2 + np.log(friction / 4) ** 2
    right = "yes" if h <= 0.26 * friction else "no"
    return run_of("splitting", float(np.exp(-away)), right)._replace(h=h, friction=friction)


def test_a_climb_ends_where_no_neighbour_is_better_and_runs_nothing_twice():
    asked = []

    def run(setting):
        asked.append((round(np.log2(setting.h), 3), round(np.log2(setting.friction), 3)))
        return worth_at(*setting)

    found = climbed([Setting(1 / 8, 1.0), Setting(1 / 8, 16.0)], run)
    assert len(found) == len(asked) == len(set(asked))
    best = max((r for r in found if r.right == "yes"), key=lambda r: r.median_ess)
    np.testing.assert_allclose((best.h, best.friction), (1.0, 4.0), rtol=1e-6)
    around = {(i, 2.0 + j) for i in (-0.5, 0.0, 0.5) for j in (-0.5, 0.0, 0.5)}
    assert around <= set(asked)


def test_nothing_is_climbed_from_settings_that_are_wrong():
    settings = [Setting(8.0, 1.0), Setting(4.0, 1.0)]
    assert len(climbed(settings, lambda setting: worth_at(*setting))) == len(settings)


def test_the_page_is_made_from_the_table(tmp_path):
    assert PAGE.read_text("utf-8") == page(load())
    save(load(), tmp_path / "table.csv", tmp_path / "page.md")
    assert (tmp_path / "table.csv").read_text("utf-8") == TABLE.read_text("utf-8")
    assert (tmp_path / "page.md").read_text("utf-8") == PAGE.read_text("utf-8")
