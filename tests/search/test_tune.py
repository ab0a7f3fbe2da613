"""The search on a Gaussian whose best step size is known, and what it hands back."""

import pickle
import time
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import MCMC

from numpyro_sgmcmc import SGLD, SGLDFP, SVRGLD, SGHMCSplit, UniformMinibatch, tune
from numpyro_sgmcmc.model import read_structure, stochastic_potential
from numpyro_sgmcmc.search.lanes import Lanes
from numpyro_sgmcmc.search.race import DRAWS
from numpyro_sgmcmc.types import Minibatch
from tests.marks import rarely
from tests.oracles import discrepancy, linear
from tests.oracles.recursion import DYNAMICS, stationary_covariance

ROWS, BATCH = 200, 10


def location(rows=ROWS, seed=0):
    """y_i ~ N(theta, 1) with one theta."""
    rng = np.random.default_rng(seed)
    return np.ones((rows, 1, 1)), rng.normal(size=(rows, 1)) + 1.0, np.ones(1)


DATA = location()
EXACT = linear.posterior(*DATA)
CURVATURE = EXACT.hessian[0, 0]
ARGS = tuple(jnp.asarray(x, jnp.float32) for x in DATA)
MODEL = partial(linear.model, subsample_size=BATCH)
STEP_SIZES = [0.5 / CURVATURE * 2.0**-k for k in range(3, 15)]
search = partial(tune, unit="gradients")


def variance(step_size):
    """Stationary variance over the posterior's."""
    recursion = DYNAMICS["langevin"](step_size, np.eye(1), 1.0)
    exact = stationary_covariance(recursion, EXACT.hessian, EXACT.noise(BATCH), step_size)
    return exact[0, 0] * CURVATURE


def expected_discrepancy(step_size, transitions):
    correlation = (1 - step_size * CURVATURE) ** (transitions // DRAWS)
    return discrepancy.expected(variance(step_size), correlation, DRAWS)


def squared_error(step_size, transitions):
    """Mean squared errors of a run's mean and variance, in the posterior's units."""
    v, r = variance(step_size), 1 - step_size * CURVATURE
    noise = v * (1 + r) / (1 - r) + 2 * v**2 * (1 + r**2) / (1 - r**2)
    return (v - 1) ** 2 + noise / transitions


@pytest.mark.long
def test_the_best_step_size_of_a_gaussian_is_found():
    """Within a factor of 3 of the step size of least expected discrepancy; the grid's factor is 2.

    Of 40 other keys three missed it, by a factor of 4; the error below was within its bound in all.
    The median of five misses it where three do (false failures: 10 x (3 / 40)^3 = 0.4 %).
    """
    kernel = SGLD(MODEL)
    keys = jax.random.split(jax.random.key(0), 5)
    searches = [search(kernel, key, *ARGS, budget=1e7, step_sizes=STEP_SIZES) for key in keys]
    found = sorted(searches, key=lambda one: one.step_size)[2]
    last = 1e7 / 2 / 4 / BATCH  # transitions in the second of two rounds, which four arms share
    exact = [expected_discrepancy(h, last) for h in STEP_SIZES]
    # Not in the middle: step sizes that are confused with each other are found out.
    assert 2 <= np.argmin(exact) <= 4 and min(exact[0], exact[-1]) > 5 * min(exact)
    best = STEP_SIZES[np.argmin(exact)]
    assert best / 3 < found.step_size < 3 * best
    errors = [squared_error(h, last) for h in STEP_SIZES]
    assert squared_error(found.step_size, last) < 3 * min(errors)


@pytest.mark.long
def test_the_table_and_what_is_reproducible():
    options = {"budget": 4e6, "subsample_sizes": [5, ROWS]}
    runs = [
        search(SGLD(MODEL), jax.random.key(3), *ARGS, step_sizes=steps, **options)
        for steps in ([1e-5, 1e-4, 1e-3], np.array([1e-5, 1e-4, 1e-3]))
    ]
    first, second = (run.arms.drop(columns="seconds") for run in runs)
    assert first.equals(second)
    table = runs[0].arms
    assert list(table.columns) == [
        "step_size",
        "subsample_size",
        "rounds",
        "score",
        "score_error",
        "transitions",
        "seconds",
    ]
    assert sorted(table["rounds"]) == [1] * 4 + [2] * 2
    assert table["step_size"][0] == runs[0].step_size
    assert (table["score_error"] > 0).all()
    assert table["subsample_size"][0] == runs[0].subsample_size
    # All arms of a round see as many rows, up to a draw's.
    rows = (table["transitions"] * table["subsample_size"])[table["rounds"] == 1]
    assert rows.between(4e6 / 2 / 6 - DRAWS * table["subsample_size"].max(), 4e6 / 2 / 6).all()
    assert (table["seconds"] > 0).all() and np.isfinite(table["score"]).all()
    # Plain gradients of few rows heat: the exact gradient is as good as its step size.
    assert runs[0].subsample_size == ROWS


@pytest.mark.long
@pytest.mark.parametrize("build", rarely([SGHMCSplit, SGLDFP, SVRGLD], [SGHMCSplit, SVRGLD]))
def test_other_kernels_are_found_near_a_step_size_that_works(build):
    found = search(build(MODEL), jax.random.key(1), *ARGS, budget=2e6)
    top = found.arms["step_size"].max()
    assert top / 1e3 < found.step_size < top
    assert found.arms["score"][0] < 0.1 < found.arms["score"].max()


@pytest.mark.long
def test_a_batch_that_was_not_declared_keeps_the_scale():
    """The mean over all minibatches of one row is the whole data's potential, N/B right."""
    options = {"step_sizes": [1e-4], "subsample_sizes": [4]}
    kernel = SGLD(MODEL, minibatch=UniformMinibatch(replace=False))
    found = search(kernel, jax.random.key(0), *ARGS, budget=1e5, **options)
    structure = read_structure(found.kernel.model, ARGS, {})
    assert structure.plates == {"rows": (ROWS, 4)}
    estimate = stochastic_potential(structure, ARGS, {})
    z = jnp.array([0.3])
    rows = jnp.arange(ROWS).reshape(-1, 4)
    over_rows = jax.vmap(lambda index: jax.value_and_grad(estimate)(z, Minibatch({"rows": index})))
    values = jax.jit(over_rows)(rows)
    whole = stochastic_potential(read_structure(linear.model, ARGS, {}), ARGS, {})
    exact = jax.jit(lambda z: jax.value_and_grad(whole)(z, Minibatch({})))(z)
    np.testing.assert_allclose(values[0].mean(), exact[0], rtol=1e-5)
    np.testing.assert_allclose(values[1].mean(0), exact[1], rtol=1e-4)
    assert values[0].std() > 1.0


@pytest.mark.long
@pytest.mark.parametrize("size", rarely([4, ROWS], [4]))
def test_the_found_kernel_runs_and_can_be_pickled(size):
    kernel = SGHMCSplit(linear.model, num_steps=2)
    options = {"step_sizes": [0.01, 0.02, 1e3], "subsample_sizes": [size]}
    found = tune(kernel, jax.random.key(0), *ARGS, BATCH, budget=1.2e6, unit="gradients", **options)
    assert kernel.options.step_size is None and kernel.options.dynamics.friction is None
    friction = found.kernel.options.dynamics.friction
    assert 0 < friction <= 1 / found.step_size
    draws = []
    for one in (found.kernel, pickle.loads(pickle.dumps(found.kernel))):
        mcmc = MCMC(one, num_warmup=0, num_samples=30, progress_bar=False)
        mcmc.run(jax.random.key(1), *ARGS, BATCH)
        draws.append(np.asarray(mcmc.get_samples()["theta"]))
        assert one.structure.plates == ({} if size == ROWS else {"rows": (ROWS, size)})
        assert float(mcmc.last_state.step_size) == np.float32(found.step_size)
    np.testing.assert_array_equal(*draws)


@pytest.mark.long
def test_arms_that_diverge_lose():
    options = {"step_sizes": [1e5, 1e-4, 1e20, 3e-4]}
    found = search(SGLD(MODEL), jax.random.key(0), *ARGS, budget=1e6, **options)
    table = found.arms.set_index("step_size")
    assert found.step_size < 1e-3
    assert np.isinf(table["score"][[1e5, 1e20]]).all()
    assert np.isfinite(table["score"][[1e-4, 3e-4]]).all()
    with pytest.raises(ValueError, match=r"whose chain stays finite; got none among \[100000.0"):
        search(SGLD(MODEL), jax.random.key(0), *ARGS, budget=1e6, step_sizes=[1e5])


@pytest.mark.long
def test_arms_that_refuse_steps_lose_even_if_their_draws_look_well():
    def walled(*args):
        linear.model(*args)
        theta = numpyro.sample("copy", dist.Normal(EXACT.mode[0], CURVATURE**-0.5))
        far = jnp.abs(theta - EXACT.mode[0]) > 8 * CURVATURE**-0.5
        numpyro.factor("wall", jnp.where(far, jnp.nan, 0.0))

    start = {"theta": jnp.asarray(EXACT.mode, jnp.float32), "copy": jnp.asarray(EXACT.mode[0])}
    steps = [0.3 / CURVATURE, 1.97 / CURVATURE]
    options = {"budget": 8e5, "step_sizes": steps, "init_params": start}
    found = search(SGLD(walled), jax.random.key(0), *ARGS, ROWS, **options)
    np.testing.assert_array_equal(found.arms["step_size"], steps)
    np.testing.assert_array_equal(np.isinf(found.arms["score"]), [False, True])


def test_a_budget_of_seconds_is_spent(monkeypatch):
    """By a clock of the test's own, on which an iteration of all arms takes 0.1 ms."""
    iteration, advance = 1e-4, Lanes.advance

    def timed(self, count, skip, thin):
        advance(self, count, skip, thin)
        return (skip + count * thin) * iteration

    monkeypatch.setattr(Lanes, "advance", timed)
    steps = [1e-5, 1e-4, 1e-3]
    found = tune(SGLD(MODEL), jax.random.key(0), *ARGS, budget=1.0, step_sizes=steps)
    spent = found.arms["transitions"] * iteration
    # Iterations between draws are a whole number: less than one a draw is left over.
    assert 1.0 - DRAWS * iteration < spent.iloc[0] <= 1.0
    np.testing.assert_allclose(found.arms["seconds"].sum(), spent.iloc[0])


@pytest.mark.long
def test_compilation_takes_nothing_of_the_budget(monkeypatch):
    compiling, sampling, walls, advance = [0.0], [], [], Lanes.advance

    def note(event, seconds, **_):
        if event.endswith("backend_compile_duration"):
            compiling[-1] += seconds

    def watched(self, count, skip, thin):
        compiling.append(0.0)
        begin = time.perf_counter()
        sampling.append(advance(self, count, skip, thin))
        walls.append(time.perf_counter() - begin)
        return sampling[-1]

    monkeypatch.setattr(Lanes, "advance", watched)
    jax.monitoring.register_event_duration_secs_listener(note)
    tune(SGLD(MODEL), jax.random.key(0), *ARGS, budget=0.4, step_sizes=[1e-5, 1e-4])
    jax.monitoring.clear_event_listeners()
    assert compiling[1] > 0 and sampling[0] + compiling[1] < walls[0]


@pytest.mark.long
def test_the_temperature_is_the_targets():
    """At temperature 4 variances are four times as large: the same step sizes, no bias found."""
    options = {"step_sizes": [1e-4], "subsample_sizes": [ROWS]}
    kernel = SGLD(MODEL, temperature=4.0)
    found = search(kernel, jax.random.key(0), *ARGS, budget=4e6, **options)
    assert abs(found.arms["score"][0]) < 0.03
