"""The pool of Ray with a Ray that computes in this process and loses calls: every wait has a bound.

The workers are those of Ray, too.
"""

import pickle
import time
from types import SimpleNamespace

import jax
import numpy as np
import pytest

from numpyro_sgmcmc import StaleGradient
from numpyro_sgmcmc.distributed import ray_start
from numpyro_sgmcmc.distributed.job import Asked, first_states, job_of, model_of, planned
from numpyro_sgmcmc.distributed.keeper import DrawsInMemory
from numpyro_sgmcmc.distributed.pool import Joined
from numpyro_sgmcmc.distributed.ray_pool import RayPool
from numpyro_sgmcmc.distributed.ray_start import RayOptions
from numpyro_sgmcmc.distributed.sampled import sampled
from tests.contract.problem import assert_same, data
from tests.distributed.local import counts_of
from tests.distributed.test_local import draws_of, split, twin
from tests.marks import briefly

TIMEOUT = 1.0
"""Seconds, more than any wait may take."""


class RayError(Exception):
    pass


class RayTaskError(RayError):
    pass


class GetTimeoutError(RayError):
    pass


class Reference:
    """What a call will give, which may never come, or come and be out of reach."""

    def __init__(self, value=None, fault=None):
        self.value, self.fault = value, fault


class Ray:
    """Computes at once. Some calls of `answer` go wrong, by their number."""

    cloudpickle = pickle
    exceptions = SimpleNamespace(
        RayError=RayError, RayTaskError=RayTaskError, GetTimeoutError=GetTimeoutError
    )

    def __init__(self, faults=None, start_fault=None):
        self.faults, self.start_fault = faults or {}, start_fault
        self.answers = self.kills = 0

    def is_initialized(self):
        return True

    def cluster_resources(self):
        return {"CPU": 2.0}

    def put(self, value):
        return Reference(value)

    def get(self, reference, *, timeout):
        assert 0 <= timeout <= TIMEOUT
        if reference.fault is not None:
            time.sleep(timeout if reference.fault == "lost" else 0)
            raise GetTimeoutError(reference.fault)
        return reference.value

    def wait(self, references, *, num_returns, timeout):
        assert 0 <= timeout <= TIMEOUT and len(set(map(id, references))) == len(references)
        found = [one for one in references if one.fault != "lost"][:num_returns]
        if len(found) < num_returns:
            time.sleep(timeout)
        return found, [one for one in references if one not in found]

    def kill(self, actor, *, no_restart):
        assert no_restart
        self.kills += 1

    def remote(self, kind):
        return SimpleNamespace(
            options=lambda **_: SimpleNamespace(remote=lambda *given: Actor(self, kind, given))
        )


class Actor:
    def __init__(self, ray, kind, given):
        self._ray, self._worker = ray, kind(*map(_value, given))

    def __getattr__(self, name):
        return SimpleNamespace(remote=lambda *given: self._called(name, given))

    def _called(self, name, given):
        fault = self._ray.start_fault if name == "ready" else None
        if name == "answer":
            self._ray.answers += 1
            fault = self._ray.faults.get(self._ray.answers)
        return Reference(getattr(self._worker, name)(*map(_value, given)), fault)


def _value(given):
    return given.value if isinstance(given, Reference) else given


@pytest.fixture
def pool_on(monkeypatch):
    """Return a function that makes a pool on such a Ray."""
    for name in ("NPROC", "JAX_PLATFORMS"):  # set by workers, and restored after the test
        monkeypatch.setenv(name, {"NPROC": "1", "JAX_PLATFORMS": "cpu"}[name])

    def make(ray, workers):
        monkeypatch.setattr(ray_start, "required_ray", lambda: ray)
        return RayPool(RayOptions(workers, None, TIMEOUT), model_of(split(), data(), {}))

    return make


FAULTS = {"none": {}, "lost": {3: "lost"}, "out of reach": {2: "vanished", 7: "vanished"}}


@pytest.mark.parametrize("name", briefly(list(FAULTS), ["lost"]))
@pytest.mark.parametrize("workers", briefly([1, 2], [2]))
def test_a_call_that_vanishes_is_made_again_in_time(pool_on, name, workers):
    kernel, counts = split(), counts_of(workers=workers)
    stale, asked = StaleGradient(kernel, 0), Asked(jax.random.key(0), data(), {})
    expecting, ray = planned(stale, counts), Ray(FAULTS[name])
    job = job_of(expecting, counts, asked, first_states(expecting, counts, asked))
    began = time.perf_counter()
    with pool_on(ray, workers) as pool:
        pool.configure(job.settings)
        found = sampled(stale, counts, job, pool, DrawsInMemory(1), False, began)
        while pool.is_busy:  # calls to a worker that has nothing else to do
            pool.wait(TIMEOUT)
    ages = found.ages[0]
    same = twin(kernel, ages) if np.any(ages) else kernel
    assert_same(found.run.draws, draws_of(same, counts, jax.random.key(0)), rtol=1e-5)
    notes = found.run.outcome.notes
    expected = {"none": 0, "lost": 1, "out of reach": 2}[name]
    assert ray.kills == expected + workers  # and the end of all
    assert len(notes) == (expected > 0)
    if notes:
        assert f"{expected} {'silent' if name == 'lost' else 'ended'}" in notes[0]


def test_answers_that_wait_for_this_process_are_not_late(pool_on):
    """A renewal, say, may take longer than the time that a worker has for an answer."""
    kernel, counts = StaleGradient(split(), 0), counts_of(workers=2)
    asked = Asked(jax.random.key(0), data(), {})
    expecting, ray = planned(kernel, counts), Ray()
    job = job_of(expecting, counts, asked, first_states(expecting, counts, asked))
    with pool_on(ray, 2) as pool:
        pool.configure(job.settings)
        time.sleep(1.5 * TIMEOUT)
        events = pool.wait(TIMEOUT)
        while pool.is_busy:
            events += pool.wait(TIMEOUT)
        assert [type(event) for event in events] == [Joined, Joined] and not ray.kills


def test_workers_that_never_start_are_an_error_in_time(pool_on):
    began = time.perf_counter()
    with pytest.raises(RuntimeError, match=r"Expected 2 workers within 1 s; got 0"):
        pool_on(Ray(start_fault="lost"), 2).__enter__()
    assert time.perf_counter() - began < 10 * TIMEOUT
