"""The warm-up's parts where the answer is known: windows, shrinkage, rough starts, recovery."""

from inspect import signature
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

from numpyro_sgmcmc import (
    Dense,
    Diagonal,
    FixedPoint,
    Plain,
    SGHMCSplit,
    Splitting,
    UniformMinibatch,
)
from numpyro_sgmcmc.model import read_structure
from numpyro_sgmcmc.preparation import Approximation, Target, point_count
from numpyro_sgmcmc.preparation.approximation import is_sound, laplace
from numpyro_sgmcmc.preparation.autocorrelation import slowest
from numpyro_sgmcmc.preparation.learning import is_lost, updated
from numpyro_sgmcmc.preparation.locate import Located, anchor_at
from numpyro_sgmcmc.preparation.mean_field import mean_field
from numpyro_sgmcmc.preparation.mode_search import find_mode
from numpyro_sgmcmc.preparation.tuning import choose_numbers
from numpyro_sgmcmc.preparation.warmup import warm_up, window_lengths
from numpyro_sgmcmc.preparation.windows import Seen, Window, path_length
from numpyro_sgmcmc.state import Tuned
from numpyro_sgmcmc.stationary import relative_variance
from tests.marks import briefly
from tests.oracles import linear

WALKERS = 8


def regression(rows=200, seed=0):
    rng = np.random.default_rng(seed)
    design = rng.normal(size=(rows, 1, 3)) * np.array([1.0, 10.0, 0.3])
    design[..., 1] += 5 * design[..., 0]  # correlated columns
    y = design @ np.array([0.5, -0.1, 1.0]) + rng.normal(size=(rows, 1))
    return design, y, np.ones(1)


def ratios(covariance, wanted):
    """Variances along the directions that a covariance and the wanted one share."""
    root = np.linalg.inv(np.linalg.cholesky(wanted))
    return np.linalg.eigvalsh(root @ covariance @ root.T)


def target_of(model, *args):
    return Target(read_structure(model, args, {}), UniformMinibatch(), args, {})


DATA = regression()
EXACT = linear.posterior(*DATA)
TARGET = target_of(linear.model, *(jnp.asarray(x, jnp.float32) for x in DATA), 20)
COVARIANCE = np.linalg.inv(EXACT.hessian)


@pytest.mark.parametrize("transitions", [0, 19, 20, 100, 1_000, 10**6])
def test_windows_double_within_what_there_is(transitions):
    lengths = window_lengths(transitions)
    assert sum(lengths) <= min(transitions, 20_000)
    assert len(lengths) == {0: 0, 19: 0, 20: 1, 100: 2}.get(transitions, 5)
    assert all(abs(b - 2 * a) <= 1 for a, b in pairwise(lengths))


def seen_of(draws):
    """What a window reports of draws (length, walkers, d)."""
    flat = draws.reshape(-1, draws.shape[-1])
    second = flat.T @ flat / len(flat)
    arrays = (draws.mean(0), second, draws[:4], draws[-1], 0.0, len(draws))
    return Seen(*(jnp.asarray(x) for x in arrays))


def test_many_draws_decide_and_few_do_not():
    rng = np.random.default_rng(0)
    factor = np.array([[2.0, 0.0], [1.0, 0.5]])
    approximation = Approximation(jnp.zeros(2), Dense(jnp.eye(2)))
    draws = rng.normal(size=(4_000, WALKERS, 2)) @ factor.T + np.array([1.0, -1.0])
    after = updated(approximation, seen_of(draws), 1.0)
    found = np.asarray(after.spread.factor, np.float64)
    # 32,000 draws: 4 relative standard errors sqrt(2 / 32,000) of a variance, 6e-5 each.
    ratio = ratios(found @ found.T, factor @ factor.T)
    np.testing.assert_allclose(ratio, 1.0, atol=2 * 4 * np.sqrt(2 / 32_000))
    np.testing.assert_allclose(after.centre, [1.0, -1.0], atol=4 * 2.3 / np.sqrt(32_000))
    # Walkers that stand still are 8 draws, however long they stood; 40 directions, none known.
    few = np.broadcast_to(rng.normal(size=(1, WALKERS, 40)), (500, WALKERS, 40))
    approximation = Approximation(jnp.zeros(40), Dense(jnp.eye(40)))
    after = updated(approximation, seen_of(np.array(few)), 1.0)
    np.testing.assert_allclose(after.spread.factor, jnp.eye(40), atol=0.2)


def slow_and_fast(rng, decay, sds):
    """A window of 1,024 draws with these autocorrelations and deviations, (d,), from its law."""
    noise = rng.normal(size=(1_024, WALKERS, len(sds)))
    draws = np.empty_like(noise)
    draws[0] = noise[0]
    for k in range(1, len(draws)):
        draws[k] = decay * draws[k - 1] + np.sqrt(1 - decay**2) * noise[k]
    return draws * sds


def path_of(draws):
    """The positions of a window of so many draws that are recorded, (path, walkers, d)."""
    count = path_length(draws.shape[2])
    last = -(-(np.arange(count) + 1) * len(draws) // count) - 1
    return jnp.asarray(draws[last], jnp.float32)


def seen_with_path(draws):
    return seen_of(draws)._replace(path=path_of(draws))


@pytest.mark.parametrize("slow", [10, 40])
def test_a_stiff_direction_is_learned_beside_slow_ones(slow):
    """Slow directions leave some 8 draws, which tell nothing of them, but all of a fast one."""
    rng = np.random.default_rng(0)
    size = slow + 1
    turn = np.linalg.qr(rng.normal(size=(size, size)))[0]
    decay, sds = np.append(np.full(slow, 0.999), 0.2), np.append(np.ones(slow), 0.01)
    approximation = Approximation(jnp.zeros(size), Dense(jnp.eye(size)))
    widths = []
    for _ in range(4):
        z = slow_and_fast(rng, decay, sds) @ turn.T
        factor = np.asarray(approximation.spread.factor, np.float64)
        y = (z - np.asarray(approximation.centre)) @ np.linalg.inv(factor).T
        seen = seen_of(y)._replace(path=path_of(z))
        approximation = updated(approximation, seen, 1.0)
        found = np.asarray(approximation.spread.factor, np.float64)
        widths.append(np.sqrt(np.sum((turn.T @ found) ** 2, axis=1)))
    # Ten positions of a path for each dimension leave a weight of I of 1 / 10: a variance of 0.1. A
    # variance that is 10 times too large is left to the shrinkage of all directions.
    assert 0.2 < widths[0][-1] < 0.4
    assert 0.009 < widths[-1][-1] < 0.01 * np.sqrt(10)
    assert np.all(np.abs(np.log(widths[-1][:slow])) < 1)


@pytest.mark.parametrize("size", [3, 12, 30, 100])
def test_directions_in_which_walkers_hardly_move_are_not_narrowed(size):
    """Eight walkers are within seven dimensions; their draws vary little in all others."""
    rng = np.random.default_rng(0)
    start = rng.normal(size=(WALKERS, size))
    start -= start.mean(0)
    path = np.cumsum(rng.normal(size=(1_024, WALKERS, size)), axis=0) * 0.1 / 32
    approximation = Approximation(jnp.zeros(size), Dense(jnp.eye(size)))
    seen = seen_with_path(start + path)
    smallest = np.linalg.eigvalsh(np.asarray(seen.second))[0]
    assert (smallest < 0.1) == (size > 7)
    after = np.asarray(updated(approximation, seen, 1.0).spread.factor, np.float64)
    assert np.linalg.eigvalsh(after @ after.T)[0] > 0.3


def test_draws_that_are_not_finite_change_nothing():
    approximation = Approximation(jnp.zeros(2), Dense(jnp.eye(2)))
    assert updated(approximation, seen_of(np.full((10, WALKERS, 2), np.nan)), 1.0) is approximation


@pytest.mark.long
def test_a_wrong_approximation_is_mended():
    """Started 3 sd off with variances 4 to 25 times wrong; after 2,000 transitions of 8 walkers.

    They leave some 600 independent draws in the last window: bounds are 5 standard errors.
    """
    sd = np.sqrt(np.diag(COVARIANCE))
    centre = jnp.asarray(EXACT.mode + 3 * sd, jnp.float32)
    rough = Approximation(centre, Diagonal(jnp.asarray(sd * np.array([0.5, 2.0, 0.2]))))
    located = Located(rough, anchor_at(TARGET, centre))
    options = SGHMCSplit(linear.model, num_steps=1).options
    warmed = warm_up(TARGET, jax.random.key(0), options, (FixedPoint(),), located, 2_000)
    found = np.asarray(warmed.approximation.spread.factor, np.float64)
    np.testing.assert_allclose((warmed.approximation.centre - EXACT.mode) / sd, 0.0, atol=5 / 24)
    ratio = ratios(found @ found.T, COVARIANCE)
    np.testing.assert_allclose(ratio, 1.0, atol=5 * np.sqrt(2 / 600) * 1.5)
    np.testing.assert_array_equal(warmed.anchor.position, warmed.approximation.centre)
    assert warmed.adaptation.windows == 5
    assert abs(float(warmed.adaptation.curvature) - 1) < 0.6


@pytest.mark.parametrize("losses", [2, 100])
def test_lost_windows_are_repeated_with_half_of_the_step_size(monkeypatch, losses):
    """At most four times; nothing is learnt from a lost window."""
    is_next_lost = iter([True] * losses + [False] * 100)
    monkeypatch.setattr(
        "numpyro_sgmcmc.preparation.warmup.is_lost", lambda seen: next(is_next_lost)
    )
    ran, cautions, run = [], [], Window.run

    def recorded(self, target, key, tuned, anchor, approximation, widths, start, length):
        ran.append((length, approximation))
        return run(self, target, key, tuned, anchor, approximation, widths, start, length)

    def chosen(*given):
        cautions.append(signature(choose_numbers).bind(*given).arguments["caution"])
        return choose_numbers(*given)

    monkeypatch.setattr(Window, "run", recorded)
    monkeypatch.setattr("numpyro_sgmcmc.preparation.warmup.choose_numbers", chosen)
    target = target_of(linear.model, *(jnp.asarray(x, jnp.float32) for x in DATA), len(DATA[1]))
    start = Approximation(jnp.asarray(EXACT.mode, jnp.float32), Diagonal(jnp.ones(3)))
    located = Located(start, anchor_at(target, start.centre))
    options = SGHMCSplit(linear.model, num_steps=1).options
    warmed = warm_up(target, jax.random.key(0), options, (Plain(),), located, 300)
    lengths, approximations = zip(*ran, strict=True)
    # Numbers are chosen before the first window and after each; `caution` multiplies the step size.
    assert cautions == [0.5 ** min(count, losses) for count in range(len(ran) + 1)]
    planned = window_lengths(300)
    assert list(lengths) == planned[:1] * min(losses, 4) + planned
    assert warmed.adaptation.windows == len(planned) == 4
    unchanged = [np.array_equal(found.centre, start.centre) for found in approximations]
    assert unchanged == [True] * min(losses + 1, len(ran)) + [False] * (len(ran) - losses - 1)


def small_window(step_size):
    window = Window(Splitting(0.1), FixedPoint(), 1.0)
    centre = jnp.asarray(EXACT.mode, jnp.float32)
    factor = jnp.asarray(np.linalg.cholesky(COVARIANCE), jnp.float32)
    tuned = Tuned(jnp.asarray(step_size), None, Dense(factor), FixedPoint())
    start = jnp.broadcast_to(centre, (WALKERS, 3))
    approximation = Approximation(centre, Dense(factor))
    anchor = anchor_at(TARGET, centre)
    return window.run(
        TARGET, jax.random.key(0), tuned, anchor, approximation, jnp.ones(3), start, 300
    )


def test_a_walker_that_leaves_the_finite_numbers_comes_back():
    seen, _ = small_window(9.0)  # the limit is 2
    assert float(seen.diverging) > 0
    assert is_lost(seen)
    assert np.all(np.isfinite(seen.last))
    assert np.all(np.isfinite(seen.snapshots))


def normal(size):
    numpyro.sample("z", dist.Normal(jnp.zeros(size), 1.0).to_event(1))


@pytest.mark.parametrize("size", [90, 120])
def test_a_window_of_many_dimensions_records_every_fourth_transition(size):
    """Moments of N(0, I), and autocorrelation times in transitions, are those of every position.

    Variances are those of the recursion, at 5 standard errors over coordinates (false failures: 4 x
    6e-7). The integrated time of x is 2 D / h; from means of segments of 15 times its length, at
    every fourth transition, it is up to 10 % away, and four times as long in the wrong unit. Widths
    are so large that deviations are hardly bounded.
    """
    h, friction, length, width = 0.3, 1.5, 3_210, 100.0
    target = target_of(normal, size)
    centre, eye = jnp.zeros(size), Dense(jnp.eye(size))
    tuned = Tuned(jnp.asarray(h), None, eye, Plain())
    start = jax.random.normal(jax.random.key(1), (WALKERS, size))
    window = Window(Splitting(friction), Plain(), 1.0)
    inputs = tuned, anchor_at(target, centre), Approximation(centre, eye), jnp.full(size, width)
    seen, _ = window.run(target, jax.random.key(0), *inputs, start, length)
    every = 1 if size <= 100 else 4
    records = length // every - length // every // 4
    assert int(seen.length) == records * every
    assert int(seen.segment_length) == records // 16 * every
    nothing = np.zeros(1)
    dynamics = Splitting(friction).linearised()
    exact = relative_variance(dynamics, h, np.ones(1), nothing, nothing)[0]
    for variances in (np.diag(seen.second), width**2 * np.asarray(seen.variances)):
        error = variances.std(ddof=1) / np.sqrt(size)
        assert abs(variances.mean() - exact) < 5 * error
    share = width**2 * np.mean(np.asarray(seen.segments).var((0, 1), ddof=1)) / exact
    assert share * int(seen.segment_length) == pytest.approx(2 * friction / h, rel=0.2)


def scale():
    numpyro.sample("s", dist.HalfNormal(1.0))


def test_a_walker_far_out_in_a_tail_does_not_decide_the_time():
    """log s has an exponential tail. The same walkers, with deviations bounded and unbounded.

    The logarithm of a time varies 0.6 times as much from window to window. The ratio of standard
    deviations of 60 windows has an error of at most 0.08, less because the walkers are the same:
    0.8 is 2.5 of these, and false failures are below 1 %. Unbounded in both, the ratio is 1.
    """
    target, centre, scales = target_of(scale), jnp.zeros(1), Diagonal(jnp.ones(1))
    tuned = Tuned(jnp.asarray(0.1), None, scales, Plain())
    inputs = tuned, anchor_at(target, centre), Approximation(centre, scales)
    window, start = Window(Splitting(1.0), Plain(), 1.0), jnp.zeros((WALKERS, 1))
    spread = {}
    for width in (1.0, 1e3):
        widths, times = jnp.full(1, width), []
        for key in jax.random.split(jax.random.key(0), 60):
            seen, _ = window.run(target, key, *inputs, widths, start, 4_000)
            times.append(slowest(seen).time)
        spread[width] = np.std(np.log(times), ddof=1)
    assert spread[1.0] < 0.8 * spread[1e3]


SNAPSHOTS = [(3, 16, 128), (12_000, 16, 32), (150_000, 4, 32)]
"""Dimensions, snapshots of a window, and points of which times of rows are taken."""


@pytest.mark.parametrize("size, count, kept", briefly(SNAPSHOTS, SNAPSHOTS[:2]))
def test_times_of_rows_see_more_positions_than_noise_is_measured_at(size, count, kept):
    """A window's walkers record them up to 131,072 dimensions, for 67 MB.

    The window is so short that in many dimensions it has fewer records than snapshots.
    """
    target, centre, scales = target_of(normal, size), jnp.zeros(size), Diagonal(jnp.ones(size))
    tuned = Tuned(jnp.asarray(0.1), None, scales, Plain())
    inputs = tuned, anchor_at(target, centre), Approximation(centre, scales)
    start, window = jnp.zeros((WALKERS, size)), Window(Splitting(1.0), Plain(), 1.0)
    seen, _ = window.run(target, jax.random.key(0), *inputs, jnp.ones(size), start, 80)
    assert seen.snapshots.shape == (count, WALKERS, size)
    assert seen.points(point_count(size)).shape == (kept, size)
    last = seen.points(point_count(size))[-WALKERS:]
    assert np.allclose(last, seen.last, rtol=1e-5, atol=1e-6)  # XLA rounds them apart
    assert np.all(seen.snapshots != 0)


def test_points_are_the_last_snapshots_of_equal_parts_of_a_window():
    snapshots = jnp.arange(16)[:, None, None] * jnp.ones((WALKERS, 2))
    seen = Seen(*[None] * 2, snapshots, *[None] * 3)
    assert np.array_equal(seen.points(128), snapshots.reshape(-1, 2))
    assert np.array_equal(seen.points(32)[::WALKERS, 0], [3, 7, 11, 15])


def test_seconds_of_a_window_are_those_of_its_transitions_alone(monkeypatch):
    """By a clock that moves while programs are compiled, and by 6 seconds in a run of 300."""
    clock = [0.0]
    compiled, run = Target.ready, Target.run

    def while_compiled(*args, **options):
        clock[0] += 1_000.0
        return compiled(*args, **options)

    def while_run(*args, **options):
        clock[0] += 6.0
        return run(*args, **options)

    monkeypatch.setattr(Target, "ready", while_compiled)
    monkeypatch.setattr(Target, "run", while_run)
    monkeypatch.setattr("numpyro_sgmcmc.preparation.windows.perf_counter", lambda: clock[0])
    assert small_window(0.1)[1] == pytest.approx(6 / 300)


def test_a_ready_program_is_not_compiled_again():
    target = Target(TARGET.structure, TARGET.minibatch, TARGET.args, TARGET.kwargs)
    traces = []

    def fn(view, x):
        traces.append(1)
        return 2 * x

    target.ready(fn, jnp.ones(2))
    np.testing.assert_array_equal(target.run(fn, jnp.ones(2)), 2 * np.ones(2))
    assert len(traces) == 1


def test_a_mean_field_fit_of_a_gaussian():
    """Reverse Kullback-Leibler: the exact mean, and variances 1 / H_ii.

    Adam's last, small steps leave some of the minibatches' noise: t tests over 16 keys, at 5
    standard errors (false failures: 6 x 1.6e-4).
    """
    keys = jax.random.split(jax.random.key(0), 16)
    fits = [mean_field(TARGET, key, jnp.zeros(3)).approximation for key in keys]
    scale = 1 / np.sqrt(np.diag(EXACT.hessian))
    for errors in (
        np.array([(fit.centre - EXACT.mode) / scale for fit in fits]),
        np.array([np.log(fit.spread.scale / scale) for fit in fits]),
    ):
        standard_error = errors.std(0, ddof=1) / np.sqrt(len(keys))
        assert np.all(np.abs(errors.mean(0)) < 5 * standard_error)


def many_columns(features, response):
    rows, columns = features.shape
    weights = numpyro.sample("weights", dist.Normal(0, 1).expand([columns]).to_event(1))
    noise = numpyro.sample("noise", dist.HalfNormal(1.0))
    with numpyro.plate("rows", rows, subsample_size=rows // 10) as i:
        numpyro.sample("response", dist.Normal(features[i] @ weights, noise), obs=response[i])


def test_a_mean_field_fit_that_starts_where_gradients_are_enormous():
    """Residuals are some hundred times the noise at the start, and their squares 10^4 times.

    The fit's mean residual sum of squares is RSS + d s^2 = N s^2, so that log s is near
    log(RSS / (N - d)) / 2, with the standard deviation 1 / sqrt(2 N). The bounds say that the
    optimiser has come near: it ends 1.9 standard deviations away, and with Adam's usual memory 69,
    where the noise's own standard deviation is a fifth of what it should be.
    """
    rows, columns = 2_000, 200
    rng = np.random.default_rng(0)
    features = rng.normal(size=(rows, columns)).astype(np.float32)
    response = features[:, 0] + rng.normal(0, 0.1, rows).astype(np.float32)
    rest = np.linalg.lstsq(features, response, rcond=None)[1][0]
    target = target_of(many_columns, jnp.asarray(features), jnp.asarray(response))
    start = jax.random.uniform(jax.random.key(1), (columns + 1,), minval=-2.0, maxval=2.0)
    fit = mean_field(target, jax.random.key(0), start).approximation
    centre, scale = (target.structure.by_site(x) for x in (fit.centre, fit.spread.scale))
    deviation = 1 / np.sqrt(2 * rows)
    error = (centre["noise"] - np.log(rest / (rows - columns)) / 2) / deviation
    assert abs(error) < 5
    assert np.isclose(scale["noise"], deviation, rtol=0.1)


def hierarchy(y, groups=8):
    scale = numpyro.sample("scale", dist.HalfNormal(1.0))
    with numpyro.plate("groups", groups):
        effect = numpyro.sample("effect", dist.Normal(0.0, scale))
    with numpyro.plate("rows", len(y), subsample_size=8) as i:
        numpyro.sample("y", dist.Normal(effect[i % groups], 3.0), obs=y[i])


def test_a_degenerate_mode_is_told_from_a_sound_one():
    mode = find_mode(TARGET, jax.random.key(0), jnp.zeros(3))
    assert is_sound(TARGET, mode, jax.random.key(1))
    wide = mode._replace(hessian=mode.hessian / 9)  # draws would lie three times too far out
    assert not is_sound(TARGET, wide, jax.random.key(1))
    y = jnp.asarray(np.random.default_rng(0).normal(size=32), jnp.float32)
    centred = target_of(hierarchy, y)
    mode = find_mode(centred, jax.random.key(0), jnp.zeros(9))
    assert not is_sound(centred, mode, jax.random.key(1))


def test_laplace_draws_have_the_covariance_of_the_inverse_hessian():
    mode = find_mode(TARGET, jax.random.key(0), jnp.zeros(3))
    draws = np.asarray(laplace(mode).draw(jax.random.key(2), 4_000, temperature=4.0), np.float64)
    ratio = ratios(np.cov(draws.T), 4 * COVARIANCE)
    np.testing.assert_allclose(ratio, 1.0, atol=5 * np.sqrt(2 / 4_000) * 1.5)
