"""The number of transitions per draw: what is measured of it, what is chosen, and what runs."""

from functools import partial
from itertools import pairwise
from math import atanh, tanh

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from scipy.linalg import solve_discrete_lyapunov
from scipy.signal import lfilter
from scipy.stats import chi2

from numpyro_sgmcmc import SGLD, SVRGLD, Diagonal, SGHMCSplit
from numpyro_sgmcmc.model import read_structure
from numpyro_sgmcmc.preparation.autocorrelation import largest, reserve, slowest
from numpyro_sgmcmc.preparation.latents.pooled import pooled
from numpyro_sgmcmc.preparation.pace import (
    Need,
    enough_for_predictions,
    need_of,
    next_length,
    pace_of,
    steps_of_draws,
    window_lengths,
)
from numpyro_sgmcmc.preparation.windows import Seen
from tests.oracles.recursion import DYNAMICS

WALKERS, SEGMENTS = 8, 16


def autoregression(rng, times, length):
    """Draws (length, walkers, d) of variance 1, with these integrated autocorrelation times."""
    decay = (times - 1) / (times + 1)  # t = (1 + r) / (1 - r)
    draws = np.empty((length, WALKERS, len(times)))
    draws[0] = rng.normal(size=draws[0].shape)
    noise = rng.normal(size=draws.shape) * np.sqrt(1 - decay**2)
    for k in range(1, length):
        draws[k] = decay * draws[k - 1] + noise[k]
    return draws


def seen_of(draws):
    length, _, dimension = draws.shape
    means = draws.reshape(SEGMENTS, -1, WALKERS, dimension).mean(1)
    return Seen(*[None] * 6, means, draws.var((0, 1)), length // SEGMENTS)


@pytest.mark.parametrize(
    ("times", "length"),
    [
        (np.array([40.0]), 16 * 200),
        (np.append(np.full(11, 3.0), 40.0), 16 * 200),
        (np.full(12, 40.0), 16 * 40),  # segments are merged
        (np.full(12, 2.0), 16 * 200),
    ],
)
def test_the_time_of_the_slowest_coordinate(times, length):
    """40 windows: the mean is right to 5 % and 4 standard errors, and nearly all suffice."""
    rng = np.random.default_rng(0)
    found = [slowest(seen_of(autoregression(rng, times, length))) for _ in range(40)]
    assert all(one.is_known for one in found)
    ratio = np.array([one.time for one in found]) / times.max()
    # Segments are merged into four where they are short, and an error of the share is 1.1 or 1.15
    # times as large in the time.
    few = length <= 40 * times.max()
    freedom = WALKERS * (SEGMENTS // 4 if few else SEGMENTS) - 1
    freedom /= (1.15 if few else 1.1) ** 2
    limit = freedom / chi2.ppf(0.05, freedom)
    error = ratio.std(ddof=1) / np.sqrt(len(ratio))
    assert abs(ratio.mean() / limit - 1) < 0.05 + 4 * error
    # Binomial: 0.95 of 40 less 4 standard errors of 0.035.
    assert np.mean(ratio > 1) > 0.95 - 0.14
    if times.min() < times.max():
        assert all(one.place == len(times) - 1 for one in found)


@pytest.mark.parametrize(("freedom", "error"), [(6.0, 0.03), (15.0, 0.01), (127.0, 0.001)])
def test_the_reserve_is_a_confidence_limit(freedom, error):
    assert reserve(freedom) == pytest.approx(freedom / chi2.ppf(0.05, freedom), rel=error)


def test_pooled_windows_are_one_window():
    """With the same draws in both, the moments are those of all draws, whatever the centres."""
    draws = np.random.default_rng(0).normal(size=(24 * 50, WALKERS, 3))
    shift, first, last = np.array([0.5, -1.0, 2.0]), draws[:400], draws[400:]
    found = pooled(seen_of(first + shift), seen_of(last), shift)
    assert found.segment_length == 50
    every = draws.reshape(24, 50, WALKERS, 3).mean(1)
    np.testing.assert_allclose(found.segments, every, atol=1e-12)
    np.testing.assert_allclose(found.variances, draws.var((0, 1)), rtol=1e-12)
    again = pooled(found, seen_of(np.repeat(last, 2, axis=0)), np.zeros(3))
    assert again.segments.shape == (28, WALKERS, 3)


@pytest.mark.parametrize("slow", [1.0, 0.9])
def test_pooled_windows_give_a_time_that_suffices(slow):
    """Four walkers, and windows until the time is known, as for latents of rows.

    A part of the variance may be fast. 0.95 of 200 times are as long as the true one, less 4
    standard errors of 0.015.
    """
    rng, runs, true, fast, walkers = np.random.default_rng(0), 200, 350.0, 10.0, 4
    lengths = [400, 800, 1_600, 3_200, 6_400]
    draws = np.zeros((runs, walkers, sum(lengths)))
    for share, time in ((slow, (true - (1 - slow) * fast) / slow), (1 - slow, fast)):
        decay = (time - 1) / (time + 1)
        noise = rng.normal(size=draws.shape) * np.sqrt(1 - decay**2)
        noise[..., 0] /= np.sqrt(1 - decay**2)
        draws += np.sqrt(share) * lfilter([1.0], [1.0, -decay], noise)
    times = []
    for one in draws:
        seen, found, start = None, None, lengths[0]
        for length in lengths[1:]:
            each = (length - length // 4) // SEGMENTS
            kept = one[:, start + length - SEGMENTS * each : start + length].T[..., None]
            means = kept.reshape(SEGMENTS, each, walkers, 1).mean(1)
            last = Seen(*[None] * 6, means, kept.var((0, 1)), each)
            seen = last if seen is None else pooled(seen, last, np.zeros(1))
            found, start = slowest(seen), start + length
            if found.is_known:
                break
        times.append(found.time)
    assert np.mean(np.array(times) >= true) > 0.95 - 4 * 0.015


@pytest.mark.parametrize("freedom", [31, 127])
@pytest.mark.parametrize("outlier", [1.0, 5.0])
def test_the_largest_of_many_estimates_is_not_biased(freedom, outlier):
    """Equal times, whose largest estimate is 1.4 or 1.9 times too large, and one that stands out.

    The mean of 50 is right to 10 % and 4 standard errors.
    """
    rng = np.random.default_rng(0)
    true = np.append(np.ones(599), outlier)
    estimates = true * rng.chisquare(freedom, (50, 600)) / freedom
    assert np.mean(estimates[:, :-1].max(1)) > 1.4
    found = np.array([largest(one, freedom) for one in estimates]) / outlier
    error = found.std(ddof=1) / np.sqrt(len(found))
    assert abs(found.mean() - 1) < 0.1 + 4 * error


def test_a_window_that_is_too_short_gives_a_lower_bound():
    rng = np.random.default_rng(0)
    found = slowest(seen_of(autoregression(rng, np.array([2.0, 1_000.0]), 160)))
    assert (found.time, found.place, found.is_known) == (40.0, 1, False)
    structure = read_structure(gaussian, (np.ones(2),), {})
    assert need_of(100.0, found, 2.0, structure).time == 200.0  # twice the relaxation time
    need = need_of(10.0, found, 2.0, structure)
    assert (float(need.time), need.site, need.is_measured) == (80.0, "z", False)


def test_a_window_that_shows_nothing():
    still = seen_of(np.zeros((160, WALKERS, 2)))
    assert slowest(still) is None
    assert slowest(seen_of(np.full((160, WALKERS, 2), np.nan))) is None
    assert slowest(still._replace(variances=np.ones(2), segment_length=0)) is None


@pytest.mark.parametrize("transitions", [0, 19, 20, 60, 100, 1_000, 10**6])
def test_windows_are_as_before_if_the_need_does_not_change(transitions):
    done = []
    while length := next_length(done, transitions):
        done.append(length)
    assert len(done) == len(window_lengths(transitions))
    assert np.abs(np.subtract(done, window_lengths(transitions))).max(initial=0) <= 2


def test_windows_grow_with_the_need():
    done = []
    while length := next_length(done, 1_000 if len(done) < 4 else 37_000):
        done.append(length)
    assert sum(done) == 20_000
    assert all(1.9 * a < b <= 4 * a for a, b in pairwise(done))


def test_windows_for_predictions_end_when_they_show_enough_draws():
    """Eight walkers make 100 draws of 80 transitions each in 1,000."""
    known, done = Need(jnp.asarray(80.0), None, True), []
    while length := next_length(done, int(min(20_000, enough_for_predictions(known, 1.1)))):
        done.append(length)
    assert sum(done) == 1_000
    assert len(done) == len(window_lengths(1_000))
    for unknown in (known._replace(is_measured=False), known._replace(time=jnp.asarray(jnp.inf))):
        assert enough_for_predictions(unknown, 1.1) == np.inf
    for slower in (0.5, 2.0, np.nan, np.inf):
        assert enough_for_predictions(known, slower) == np.inf


def gaussian(scale):
    numpyro.sample("z", dist.Normal(0.0, scale).to_event(1))


def worth(name, h, friction, steps, variance):
    """Exact effective draws per draw, by the linear recursion, with S = 1."""
    hessian = np.array([[1 / variance]])
    law = DYNAMICS[name](h, np.eye(1), friction)
    one = law.transition(hessian)
    covariance = solve_discrete_lyapunov(one, h * law.heat @ law.heat.T)
    several = np.linalg.matrix_power(one, steps)
    autocovariances = np.linalg.solve(np.eye(len(one)) - several, covariance)[0, 0]
    return covariance[0, 0] / (2 * autocovariances - covariance[0, 0])


@pytest.mark.parametrize(
    ("build", "name", "dimension"),
    [
        pytest.param(SGLD, "langevin", 3, marks=pytest.mark.long),
        pytest.param(SGHMCSplit, "splitting", 3, marks=pytest.mark.long),
        pytest.param(SGHMCSplit, "splitting", 600, marks=pytest.mark.long),
        pytest.param(SGLD, "langevin", 600, marks=pytest.mark.release),
    ],
)
def test_a_draw_is_worth_what_it_should(build, name, dimension):
    """Variances from 1 to 4, which the given preconditioner leaves as they are.

    The measured time has a standard error of 13 to 25 %, and two of these are added to it. Bounds
    are 4 of the larger ones below that and 3 above: half the transitions that 0.3 takes, and 2.25
    times as many.
    """
    variances = np.geomspace(1.0, 4.0, dimension)
    preconditioner = Diagonal(jnp.ones(dimension))
    kernel = build(gaussian, preconditioner=preconditioner)
    scale = jnp.asarray(np.sqrt(variances), jnp.float32)
    tuned = kernel.init(jax.random.key(0), 200, None, (scale,), {}).tuned
    found = kernel.adaptation
    friction = None if found.friction is None else float(found.friction)
    given = partial(worth, name, float(found.step_size), friction)
    steps = int(tuned.pace.num_steps)
    assert kernel.num_steps == steps == found.num_steps
    assert found.slowest_site == "z"
    assert given(steps, variances.max()) > tanh(0.5 * atanh(0.3))
    assert given(max(1, int(steps / 2.25)), variances.max()) < 0.3


@pytest.mark.long
def test_what_a_draw_is_worth_in_the_docstrings_formula():
    for steps in (1, 20, 62):
        decay = np.exp(-2 * steps / 200.0)
        np.testing.assert_allclose((1 - decay) / (1 + decay), tanh(steps / 200.0), rtol=1e-12)
    kernel = SGLD(gaussian)
    kernel.init(jax.random.key(0), 0, None, (jnp.ones(2),), {})
    found = kernel.adaptation  # no window: the time is twice the relaxation time, 1 / h
    np.testing.assert_allclose(found.autocorrelation_time, 2 / found.step_size, rtol=1e-5)
    assert found.num_steps == np.ceil(atanh(0.3) * 2 / found.step_size)
    assert found.worth >= 0.3
    assert f"{found.num_steps} transitions per draw" in str(found)
    assert "the slowest direction takes about" in str(found)


def of_rows(batch, dimension):
    def model(y):
        numpyro.sample("z", dist.Normal(0.0, 1.0).expand([dimension]).to_event(1))
        with numpyro.plate("rows", len(y), subsample_size=batch) as i:
            numpyro.sample("y", dist.Normal(0, 1), obs=y[i])

    return model


@pytest.mark.parametrize(
    ("batch", "dimension", "num_warmup", "options", "expected"),
    [
        (500, 8, 1_000, {}, 15),  # artanh(0.9) of an independent draw's 10 transitions
        (500, 8, 4_000, {}, 10),  # 40,000 transitions in as many draws as the warm-up has
        (500, 8, 10, {}, 15),
        (500, 8, 0, {}, 4),  # no warm-up tells how many draws there will be: artanh(0.3) of them
        (500, 200, 1_000, {}, 10),  # 1e9 products of rows and parameters
        (5_000, 200, 1_000, {}, 4),
        (None, 8, 1_000, {}, 4),
        (500, 8, 1_000, {"max_num_steps": 7}, 7),
        (500, 8, 1_000, {"temperature": 0.0}, 1),
    ],
)
def test_draws_are_worth_more_where_transitions_are_cheap(
    batch, dimension, num_warmup, options, expected
):
    args = (jnp.zeros(9_000),)
    model = of_rows(batch, dimension)
    found, least = steps_of_draws(
        SGHMCSplit(model, **options).options,
        Need(jnp.array(10.0)),
        num_warmup,
        read_structure(model, args, {}),
    )
    assert int(found) == expected
    assert int(least) == min(expected, 4)


@pytest.mark.parametrize(("num_steps", "num_warmup"), [(1, 5), (37, 1_000), (37, 10), (200, 0)])
def test_the_count_of_transitions_is_their_sum(num_steps, num_warmup):
    pace = pace_of(jnp.asarray(num_steps, jnp.int32), num_warmup)
    iterations = jnp.arange(num_warmup + 5)
    steps = np.asarray(jax.vmap(pace.steps)(iterations))
    before = np.asarray(jax.vmap(pace.before)(iterations))
    np.testing.assert_array_equal(before, np.cumsum(steps) - steps)
    assert (steps[num_warmup:] == num_steps).all()
    assert (steps[:num_warmup] <= num_steps).all()
    # Fifty draws in all, or all of them if they are fewer.
    assert steps[:num_warmup].sum() >= min(50, num_warmup) * num_steps
    assert pace.before(iterations).dtype == pace.steps(iterations).dtype == jnp.int32


@pytest.mark.long
def test_no_more_transitions_than_the_user_allows():
    scale = jnp.array([1.0, 10.0])
    kernel = SGLD(gaussian, preconditioner=Diagonal(jnp.ones(2)), max_num_steps=5)
    with pytest.warns(UserWarning, match=r"5 are taken for each draw.*max_num_steps"):
        kernel.init(jax.random.key(0), 500, None, (scale,), {})
    assert kernel.num_steps == 5
    assert kernel.adaptation.worth < 0.1


@pytest.mark.long
def test_a_given_step_size_or_number_chooses_nothing():
    fixed, given = SGLD(gaussian, 0.1), SGLD(gaussian, num_steps=7)
    assert SGLD(gaussian).num_steps is None
    for kernel, steps in ((fixed, 1), (given, 7)):
        assert kernel.num_steps == steps
        state = kernel.init(jax.random.key(0), 50, None, (jnp.ones(2),), {})
        assert state.tuned.pace is None
    assert "7 transitions per draw" in str(given.adaptation)
    assert SGLD(gaussian).with_numbers(0.1).num_steps == 1
    assert SGLD(gaussian, num_steps=7).with_numbers(0.1).num_steps == 7


def test_an_optimiser_takes_one_transition():
    kernel = SGLD(gaussian, temperature=0.0)
    kernel.init(jax.random.key(0), 50, None, (jnp.ones(2),), {})
    assert kernel.num_steps == 1


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:Step size:UserWarning")
def test_anchors_are_renewed_each_period_of_transitions():
    """4 warm-up iterations, then draws: renewals every (period // steps) iterations of each."""

    def model(x):
        z = numpyro.sample("z", dist.Normal())
        with numpyro.plate("rows", len(x), subsample_size=2) as rows:
            numpyro.sample("x", dist.Normal(z), obs=x[rows])

    x = jnp.linspace(-1.0, 1.0, 8)
    kernel = SVRGLD(model, period=12)
    state = kernel.init(jax.random.key(0), 0, None, (x,), {})
    numbers = (jnp.asarray(n, jnp.int32) for n in (4, 3, 5))
    state = state._replace(tuned=state.tuned._replace(pace=type(state.tuned.pace)(*numbers)))
    sample = jax.jit(partial(kernel.sample, model_args=(x,), model_kwargs={}))
    renewed, anchor = [], state.gradient.position
    for i in range(12):
        state = sample(state)
        if state.gradient.position != anchor:
            renewed.append(i)
        anchor = state.gradient.position
    assert renewed == [4, 5, 8, 11]
