"""The pool of Ray with a Ray that computes in this process and loses calls: every wait has a bound.

The workers are those of Ray, too.
"""

import pickle
import time
from pathlib import Path
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


class Overloaded(Ray):
    """Does not start in time, which Ray says in this way."""

    def is_initialized(self):
        return False

    def init(self, **given):
        self.given = given
        raise Exception("The current node timed out during startup.")


def test_a_ray_that_does_not_start_is_an_error_with_a_remedy(pool_on):
    ray = Overloaded()
    with pytest.raises(RuntimeError, match=r"Expected Ray on this machine; .* less busy"):
        pool_on(ray, 1).__enter__()
    assert not Path(ray.given["_temp_dir"]).exists()


class Node(Ray):
    """Workers on one node, which vanishes with them and their answers at a call of `answer`.

    Others start on a second node, which has room for so many of them.
    """

    def __init__(self, at, room):
        super().__init__()
        self.at, self.room, self.left = at, room, None

    @property
    def is_gone(self):
        if self.answers >= self.at and self.left is None:
            self.left = time.perf_counter()
        return self.left is not None

    def get(self, reference, *, timeout):
        if reference.fault == "dead":
            raise RayError("The actor died because its node has died.")
        return super().get(reference, timeout=timeout)

    def remote(self, kind):
        return SimpleNamespace(
            options=lambda **_: SimpleNamespace(remote=lambda *given: self._placed(kind, given))
        )

    def _placed(self, kind, given):
        if not self.is_gone:
            return Housed(self, kind, given)
        self.room -= 1
        return Actor(self, kind, given) if self.room >= 0 else Homeless()


class Housed(Actor):
    """A worker on the node that vanishes."""

    def _called(self, name, given):
        found = super()._called(name, given)
        return OnNode(self._ray, found.value)


class OnNode(Reference):
    """What a worker on that node gives, as long as it is there."""

    def __init__(self, ray, value):
        self.value, self._ray = value, ray

    @property
    def fault(self):
        return "dead" if self._ray.is_gone else None


class Homeless:
    """A worker that no node has room for: its calls wait for ever."""

    def __getattr__(self, name):
        return SimpleNamespace(remote=lambda *given: Reference(fault="lost"))


def run_on_node(pool_on, ray, workers=2):
    kernel, counts = split(), counts_of(workers=workers)
    stale, asked = StaleGradient(kernel, 0), Asked(jax.random.key(0), data(), {})
    expecting = planned(stale, counts)
    job = job_of(expecting, counts, asked, first_states(expecting, counts, asked))
    with pool_on(ray, workers) as pool:
        pool.configure(job.settings)
        return sampled(stale, counts, job, pool, DrawsInMemory(1), False, time.perf_counter())


@pytest.mark.parametrize("at", briefly([1, 4, 5], [4]))
def test_a_run_goes_on_elsewhere_when_a_node_vanishes(pool_on, at):
    found = run_on_node(pool_on, Node(at, room=2))
    same, counts = twin(split(), found.ages[0]), counts_of(workers=2)
    assert_same(found.run.draws, draws_of(same, counts, jax.random.key(0)), rtol=1e-5)
    assert "2 ended" in found.run.outcome.notes[0]


def test_a_vanished_node_whose_workers_have_no_other_is_an_error_in_time(pool_on):
    ray = Node(4, room=0)
    with pytest.raises(RuntimeError, match=r"Use fewer `num_workers`, add nodes, or raise"):
        run_on_node(pool_on, ray)
    assert time.perf_counter() - ray.left < 10 * TIMEOUT
