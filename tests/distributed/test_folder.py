"""A run with workers in a folder goes on from the last mark that all servers have passed."""

from pathlib import Path
from time import perf_counter

import jax
import numpy as np
import pytest

from numpyro_sgmcmc import SGHMCSplit, StaleGradient, open_run
from numpyro_sgmcmc.distributed.job import Asked, job_of, model_of, planned
from numpyro_sgmcmc.distributed.resumption import opened
from numpyro_sgmcmc.distributed.sampled import sampled
from numpyro_sgmcmc.results.entries import attributes_of
from tests.contract.problem import data, model
from tests.distributed.local import LocalPool, counts_of

WORKERS, SERVERS, SAMPLES = 4, 2, 600


class Killed(Exception):
    """Stands for the end of the process."""


class EndingPool(LocalPool):
    """Ends the process after some answers."""

    answers = 900

    def events(self, worker, request, answer):
        if self.count > self.answers:
            raise Killed
        return super().events(worker, request, answer)


def run(folder, pool=LocalPool, seed=0, samples=SAMPLES):
    kernel = SGHMCSplit(model, 1e-3, friction=5.0)
    counts = counts_of(warmup=20, samples=samples, servers=SERVERS, workers=WORKERS)
    stale, asked = StaleGradient(kernel, 0), Asked(jax.random.key(0), data(), {})
    expecting, began = planned(stale, counts), perf_counter()
    found = opened(expecting, counts, asked, None, Path(folder), 1e-9, began)
    job = job_of(expecting, counts, asked, found.states, found.iterations)
    keeper = found.keeper(expecting, job.work.calendar, SERVERS)
    made = pool(model_of(kernel, data(), {}), job.settings, WORKERS, seed)
    return found, sampled(stale, counts, job, made, keeper, False, began)


@pytest.mark.long
def test_a_killed_run_goes_on(tmp_path):
    whole = run(tmp_path / "whole")[1].run.draws["w"]
    with pytest.raises(Killed):
        run(tmp_path / "killed", EndingPool)
    held = open_run(tmp_path / "killed")["posterior"]
    assert 0 < held.sizes["draw"] < SAMPLES
    found, done = run(tmp_path / "killed", seed=1)
    assert found.iterations == held.sizes["draw"] + 20
    draws = np.asarray(done.run.draws["w"])
    assert draws.shape == (SERVERS, SAMPLES, 2)
    # Answers came in the same order before the kill, and in another one after it.
    first = held.sizes["draw"]
    assert np.array_equal(draws[:, :first], whole[:, :first])
    assert not np.array_equal(draws[:, first:], whole[:, first:])
    again = open_run(tmp_path / "killed")
    assert attributes_of(again)["stopped"] == "complete"
    assert np.array_equal(again["posterior"]["w"], draws)
    assert len(done.ages[0]) == SAMPLES + 20 - found.iterations


@pytest.mark.long
def test_a_finished_run_is_read(tmp_path):
    _, first = run(tmp_path)
    found, again = run(tmp_path)
    assert found.iterations == SAMPLES + 20
    assert np.array_equal(first.run.draws["w"], again.run.draws["w"])
    assert again.run.outcome.stopped == "complete"


def test_another_run_is_refused(tmp_path):
    run(tmp_path)
    with pytest.raises(ValueError, match="num_samples"):
        run(tmp_path, samples=SAMPLES - 1)
