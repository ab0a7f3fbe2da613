"""Workers of Ray: the same draws as without, whatever happens to the workers.

`make test-distributed` runs these. One Ray serves all tests but those of its start.
"""

import os
import signal
import time
import warnings
from functools import partial

import jax
import numpy as np
import numpyro
import pytest
from numpyro.infer import MCMC

from numpyro_sgmcmc import AsyncMCMC, SGHMCSplit, diagnose, report, to_inference_data
from numpyro_sgmcmc.distributed.job import model_of
from numpyro_sgmcmc.distributed.passes import WorkerPasses
from numpyro_sgmcmc.distributed.ray_pool import RayPool
from numpyro_sgmcmc.distributed.ray_start import RayOptions
from numpyro_sgmcmc.preparation import row_sums
from tests.contract.problem import assert_same
from tests.contract.problem import data as rows
from tests.contract.problem import model as regression
from tests.distributed.local import counts_of
from tests.distributed.on_ray import QUIET, run_on_ray
from tests.distributed.problem import data, slow_model
from tests.distributed.test_local import CURVATURE, draws_of, twin
from tests.distributed.test_passes import model as linear
from tests.distributed.test_passes import passes_of
from tests.distributed.test_passes import rows as many_rows
from tests.distributed.variance import REMEDIES, assert_variance, kernel, options

pytestmark = [
    pytest.mark.distributed,
    # Ray's own.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
CPUS = 8


@pytest.fixture(scope="module")
def cluster():
    """A Ray with more CPUs than this machine has, which the tests' pools use."""
    import ray

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ray.init(address="local", num_cpus=CPUS, **QUIET)
    yield ray
    ray.shutdown()


def split(**given):
    return SGHMCSplit(regression, 1e-3, friction=5.0, **given)


@pytest.mark.parametrize("workers", [1, 3])
def test_draws_are_those_of_the_twin(cluster, workers):
    """One worker and no age is the kernel; more workers are its twin with their ages."""
    given = {"remedy": "curvature", "curvature": CURVATURE} if workers == 3 else {}
    counts = counts_of(workers=workers, samples=200, bound=8 if workers == 3 else 0)
    found = run_on_ray(split(), rows(), counts, workers, **given)
    ages = found.ages[0]
    assert np.any(ages) == (workers == 3)
    same = split() if workers == 1 else twin(split(), ages, **given)
    assert_same(found.run.draws, draws_of(same, counts, jax.random.key(0)), rtol=1e-5)


@pytest.mark.parametrize("name", REMEDIES)
def test_variance_is_that_of_the_recursion(cluster, name):
    counts = counts_of(warmup=200, samples=2_000, servers=4, workers=4, bound=11, size=4)
    found = run_on_ray(kernel(), data(), counts, 4, **options(name))
    numbers = assert_variance(found.run.draws["theta"], found.ages, name, 200)
    means = [float(ages.mean()) for ages in found.ages]
    print(f"{name}: variance {numbers[0]:.3f}, recursion {numbers[1]:.3f}, MCSE {numbers[2]:.3f}")
    print(f"mean ages {means}, {found.run.wall_time:.1f} s")


KILLS, DRAWS = 50, 1_500
KILLED = 3
"""Workers of this run, and kills that no answer need separate."""


def kill_some(pool, killed, times):
    """Kill workers at random moments, in their start too, which is slow on a busy machine."""
    rng, answers = np.random.default_rng(0), []
    while len(killed) < KILLS:
        time.sleep(rng.uniform(0.1, 0.8))
        if len(answers) >= KILLED and len(times) == answers[-KILLED]:
            continue
        pid = int(rng.choice([one["pid"] for one in pool.workers.values()]))
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue  # it was killed before and its successor has not started yet
        killed.append(pid)
        answers.append(len(times))


def test_killed_workers_are_replaced_and_the_law_is_untouched(cluster):
    """The draws are those of the twin: no minibatch was lost or used twice."""
    counts = counts_of(workers=KILLED, samples=DRAWS)
    slow, killed, times = SGHMCSplit(slow_model, 1e-3, friction=5.0), [], []
    kill = partial(kill_some, killed=killed, times=times)
    found = run_on_ray(slow, (*data(), 0.1), counts, KILLED, during=kill, timed=times)
    print(f"{len(killed)} kills; {found.run.outcome.notes[0]}")
    assert len(killed) == KILLS and "ended" in found.run.outcome.notes[0]
    mcmc = MCMC(twin(slow, found.ages[0]), num_warmup=3, num_samples=DRAWS, progress_bar=False)
    mcmc.run(jax.random.key(0), data()[0], 0.0)
    expected = mcmc.get_samples(group_by_chain=True)
    assert_same(found.run.draws, expected, rtol=1e-5)


def stop_one(pool):
    time.sleep(1.0)
    os.kill(pool.workers[0]["pid"], signal.SIGSTOP)


def test_a_worker_that_does_not_answer_is_replaced(cluster):
    counts = counts_of(workers=2, samples=300)
    slow = SGHMCSplit(slow_model, 1e-3, friction=5.0)
    found = run_on_ray(slow, (*data(), 0.03), counts, 2, during=stop_one, timeout=30.0)
    assert "silent" in found.run.outcome.notes[0]


def rate(workers, samples):
    """Return transitions in a second with gradients of 50 ms, after the compilation."""
    times = []
    counts = counts_of(workers=workers, samples=samples, bound=16)
    slow = SGHMCSplit(slow_model, 1e-3, friction=5.0)
    run_on_ray(slow, (*data(), 0.05), counts, workers, timed=times)
    late = times[len(times) // 3 :]
    return (len(late) - 1) / (late[-1] - late[0])


def test_slow_gradients_are_computed_at_the_same_time(cluster):
    """The gradients sleep, so that eight workers need no more than two cores."""
    one, eight = rate(1, 60), rate(8, 480)
    print(f"1 worker: {one:.1f} transitions a second; 8 workers: {eight:.1f} ({eight / one:.2f})")
    assert eight / one > 0.85 * 8


def broken(y, where):
    if os.getpid() != where:
        raise LookupError("no such file here")
    numpyro.sample("theta", numpyro.distributions.Normal(0.0, 1.0))


def test_an_error_of_the_model_in_a_worker_is_told(cluster):
    kernel = SGHMCSplit(broken, 1e-3, friction=5.0)
    with pytest.raises(RuntimeError, match="no such file here"):
        run_on_ray(kernel, (*data(), os.getpid()), counts_of(), 1)


def test_workers_that_cannot_be_placed_are_an_error_in_time(cluster):
    counts = counts_of(workers=CPUS + 2)
    begin = time.perf_counter()
    with pytest.raises(RuntimeError, match=r"Use fewer `num_workers`"):
        run_on_ray(split(), rows(), counts, CPUS + 2, timeout=10.0)
    assert time.perf_counter() - begin < 60


def test_data_are_read_where_they_are_and_jax_comes_late(cluster):
    with RayPool(RayOptions(2, None, 120.0), model_of(split(), rows(), {})) as pool:
        for one in pool.workers.values():
            assert one["shares_data"] and not one["is_late"]


def test_passes_by_workers_of_which_one_is_killed(cluster):
    """The sum over all rows is the one of workers in this process, to the bit."""
    kernel, args = SGHMCSplit(linear), many_rows()
    inputs = (np.ones(4, np.float32),)
    local, _ = passes_of(kernel, args)
    wanted = local.total(row_sums.second_order, None, inputs)
    with RayPool(RayOptions(2, None, 120.0), model_of(kernel, args, {})) as pool:
        passes = WorkerPasses(pool, pool.free, None)
        assert_same(passes.total(row_sums.second_order, None, inputs), wanted, rtol=0, atol=0)
        os.kill(pool.workers[0]["pid"], signal.SIGKILL)
        assert_same(passes.total(row_sums.second_order, None, inputs), wanted, rtol=0, atol=0)


def mapped(folder, arrays):
    """Return arrays that are in files."""
    for i, array in enumerate(arrays):
        np.save(folder / f"{i}.npy", np.asarray(array))
    return tuple(np.load(folder / f"{i}.npy", mmap_mode="r") for i in range(len(arrays)))


def test_rows_in_files_are_opened_by_the_workers(cluster, tmp_path):
    """Workers get paths, and one worker's draws are those from rows in memory, to the bit."""
    on_disk, pools = mapped(tmp_path, rows()), []
    found = run_on_ray(split(), on_disk, counts_of(), 1, during=pools.append)
    in_memory = run_on_ray(split(), rows(), counts_of(), 1)
    assert_same(found.run.draws, in_memory.run.draws, rtol=0, atol=0)
    assert not pools[0].shipment.arrays


def test_rows_in_files_that_a_machine_lacks_are_an_error(cluster, tmp_path):
    on_disk = mapped(tmp_path, rows())
    missing = tmp_path / "0.npy"
    with pytest.raises(RuntimeError, match=r"0\.npy' on every machine; got .*No such file"):
        run_on_ray(split(), on_disk, counts_of(), 1, before=missing.unlink)


@pytest.mark.filterwarnings("ignore::UserWarning")  # advice for 100 draws
def test_the_whole_way_with_a_ray_of_its_own(tmp_path):
    """Starts and stops Ray, prepares, measures, samples, and gives results."""
    import ray

    ray.shutdown()  # that of the tests before
    run = AsyncMCMC(
        SGHMCSplit(regression, num_steps=2),
        num_warmup=100,
        num_samples=100,
        num_servers=2,
        num_workers=2,
        max_staleness=1,
        remedy="curvature",
        steps_per_request=None,
        progress_bar=False,
    )
    run.run(jax.random.key(0), *rows())
    assert not ray.is_initialized()
    assert run.get_samples(group_by_chain=True)["w"].shape == (2, 100, 2)
    assert run.get_samples()["w"].shape == (200, 2)
    run.print_summary()
    data = to_inference_data(run)
    assert data["sample_stats"]["staleness"].shape == (2, 100)
    assert diagnose(run).sentence
    assert report(data, tmp_path / "report.html").exists()
