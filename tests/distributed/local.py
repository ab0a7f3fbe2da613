"""Workers in this process, which answer in a random order and can be told to fail."""

from time import perf_counter

import jax
import numpy as np

from numpyro_sgmcmc import StaleGradient
from numpyro_sgmcmc.distributed.gradients import GradientProgram
from numpyro_sgmcmc.distributed.job import Asked, Counts, first_states, job_of, model_of, planned
from numpyro_sgmcmc.distributed.keeper import DrawsInMemory
from numpyro_sgmcmc.distributed.planning import share_of
from numpyro_sgmcmc.distributed.pool import AbstractPool, Answered, Joined, Lost
from numpyro_sgmcmc.distributed.sampled import sampled


class RandomPool(AbstractPool):
    """Lets a random worker `answer` at each wait; `events` may change what it says."""

    def __init__(self, seed=0, new=()):
        self._rng, self._open, self._new = np.random.default_rng(seed), {}, list(new)
        self.count = 0

    def submit(self, worker, request):
        assert worker not in self._open
        self._open[worker] = request

    @property
    def is_busy(self):
        return bool(self._open or self._new)

    def wait(self, seconds):
        events, self._new = self._new, []
        if events or not self._open:
            return events
        worker = int(self._rng.choice(sorted(self._open)))
        request = self._open.pop(worker)
        self.count += 1
        return self.events(worker, request, self.answer(request))

    def events(self, worker, request, answer):
        """Return what happens; tests of faults replace this."""
        return [Answered(worker, request, answer)]


class LocalPool(RandomPool):
    """Answers requests for gradients."""

    def __init__(self, model, settings, workers, seed=0):
        super().__init__(seed, map(Joined, range(workers)))
        self._program = GradientProgram(model, settings)

    def hold(self, server, version, state):
        self._program.hold(server, version, state)

    def answer(self, request):
        return self._program.answer(request)


class FaultyPool(LocalPool):
    """Every third answer is wrong in one of these ways, in turn, or its worker is lost."""

    faults = ("nan", "shape", "version", "lost", "old", "type")
    first = None

    def events(self, worker, request, answer):
        self.first = self.first or answer
        if self.count % 3:
            return [Answered(worker, request, answer)]
        fault = self.faults[self.count // 3 % len(self.faults)]
        if fault == "lost":
            return [Lost(worker, request, "ended"), Joined(worker)]
        wrong = {
            "nan": lambda: answer._replace(values=np.full_like(answer.values, np.nan)),
            "old": lambda: self.first,
            "shape": lambda: answer._replace(values=answer.values[:, :-1]),
            "version": lambda: answer._replace(version=answer.version + 1),
            "type": lambda: answer._replace(values=answer.values.astype(np.float16)),
        }[fault]()
        return [Answered(worker, request, wrong)]


def counts_of(*, warmup=3, samples=6, servers=1, workers=1, bound=8, size=1):
    """Return the numbers of a run."""
    return Counts(warmup, samples, servers, bound, share_of(workers, servers, bound), size)


def run_locally(kernel, args, counts, *, workers=1, seed=0, pool=LocalPool, key=0, **options):
    """Return a run whose workers are in this process, and its ages."""
    stale, asked = StaleGradient(kernel, 0, **options), Asked(jax.random.key(key), args, {})
    expecting = planned(stale, counts)
    job = job_of(expecting, counts, asked, first_states(expecting, counts, asked))
    made = pool(model_of(kernel, args, {}), job.settings, workers, seed)
    return sampled(
        stale, counts, job, made, DrawsInMemory(counts.num_servers), False, perf_counter()
    )
