"""Servers with workers in this process: draws are those of the twin with the ages that occurred.

The programs differ (a loop over all transitions there, one call for each message here), and XLA
fuses multiplications and additions differently, so draws agree up to rounding.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.infer import MCMC

from numpyro_sgmcmc import (
    SGLD,
    SVRGLD,
    FixedPoint,
    ReshuffledMinibatch,
    SGHMCSplit,
    StaleGradient,
    UniformMinibatch,
)
from numpyro_sgmcmc.distributed.chain import ChainProgram
from numpyro_sgmcmc.distributed.keeper import DrawsInMemory
from numpyro_sgmcmc.distributed.pool import Answered, Joined, Lost
from tests.contract.problem import ANCHOR, assert_same, data, model
from tests.distributed.local import FaultyPool, LocalPool, counts_of, run_locally
from tests.marks import briefly

CURVATURE = np.array([60.0, 80.0, 100.0])


def split(**options):
    return SGHMCSplit(model, 1e-3, friction=5.0, **options)


def svrg():
    return SVRGLD(model, 1e-3, period=6, num_steps=2)


def draws_of(kernel, counts, key):
    """Return the draws of the kernel in `MCMC`, with one chain."""
    mcmc = MCMC(
        kernel, num_warmup=counts.num_warmup, num_samples=counts.num_samples, progress_bar=False
    )
    mcmc.run(key, *data())
    return mcmc.get_samples(group_by_chain=True)


def twin(kernel, ages, **options):
    """Return the kernel with the ages of a server's transitions."""
    table = jnp.asarray(ages)
    bound = int(table.max())
    return StaleGradient(kernel, lambda count: table[count], max_staleness=bound, **options)


def test_one_worker_and_one_transition_at_a_time_is_the_kernel():
    kernel, counts = split(num_steps=3), counts_of(bound=0)
    found = run_locally(kernel, data(), counts)
    assert not np.any(found.ages[0]) and len(found.ages[0]) == 27
    assert_same(found.run.draws, draws_of(kernel, counts, jax.random.key(0)), rtol=1e-5)


CASES = {
    "plain": (split, {}, {"samples": 300}),  # more than are drawn together
    "control variates": (lambda: split(gradient=FixedPoint(ANCHOR)), {}, {}),
    "curvature": (split, {"remedy": "curvature", "curvature": CURVATURE}, {}),
    "epochs": (lambda: SGLD(model, 1e-3, minibatch=ReshuffledMinibatch()), {}, {}),
    "requests of two": (lambda: split(num_steps=3), {}, {"size": 2}),
    "renewals": (svrg, {}, {}),
}


@pytest.mark.parametrize(
    "case", briefly(list(CASES), ["plain"], ["control variates", "epochs", "renewals"])
)
def test_draws_are_those_of_the_twin_with_the_ages_that_occurred(case):
    build, options, numbers = CASES[case]
    kernel, counts = build(), counts_of(**{"workers": 3, "samples": 12} | numbers)
    found = run_locally(kernel, data(), counts, workers=3, **options)
    ages = found.ages[0]
    assert len(set(ages.tolist())) > 2 and ages.max() <= counts.bound
    expected = draws_of(twin(kernel, ages, **options), counts, jax.random.key(0))
    assert_same(found.run.draws, expected, rtol=1e-5)
    staleness = np.asarray(found.run.fields["staleness"])[0]
    steps = len(ages) // (counts.num_warmup + counts.num_samples)
    means = ages.reshape(-1, steps).mean(1)[counts.num_warmup :]
    np.testing.assert_allclose(staleness, means, rtol=1e-5)


def test_each_server_is_a_chain_with_its_own_key():
    kernel, counts = split(), counts_of(workers=4, servers=2)
    found = run_locally(kernel, data(), counts, workers=4)
    keys = jax.random.split(jax.random.key(0), 2)
    for chain, key in enumerate(keys):
        expected = draws_of(twin(kernel, found.ages[chain]), counts, key)
        own = jax.tree.map(lambda x, chain=chain: x[chain : chain + 1], found.run.draws)
        assert_same(own, expected, rtol=1e-5)


@pytest.mark.parametrize("workers", briefly([1, 3], [3]))
def test_faults_change_ages_at_most(workers):
    """Whatever is lost or wrong is asked again with the same key, and used once."""
    kernel, counts = split(), counts_of(workers=workers, samples=30)
    found = run_locally(kernel, data(), counts, workers=workers, pool=FaultyPool)
    notes = found.run.outcome.notes[0]
    for reason in ("not finite", "misshapen", "wrong version", "wrong request", "ended"):
        assert reason in notes
    expected = draws_of(twin(kernel, found.ages[0]), counts, jax.random.key(0))
    assert_same(found.run.draws, expected, rtol=1e-5)
    if workers == 1:
        assert not np.any(found.ages[0])


class BrokenPool(LocalPool):
    def events(self, worker, request, answer):
        wrong = answer._replace(version=answer.version + 1)
        return super().events(worker, request, wrong)


def test_answers_that_are_always_wrong_end_the_run():
    with pytest.raises(RuntimeError, match="refused, the last one as wrong version"):
        run_locally(split(), data(), counts_of(), pool=BrokenPool)


def test_a_transition_is_one_call_and_the_next_request_goes_before_its_draw(monkeypatch):
    said = []

    def noted(kind, name):
        method = getattr(kind, name)

        def calling(self, *given):
            said.append(name)
            return method(self, *given)

        monkeypatch.setattr(kind, name, calling)

    for kind, name in (
        (ChainProgram, "advance"),
        (ChainProgram, "query"),
        (LocalPool, "submit"),
        (DrawsInMemory, "add"),
    ):
        noted(kind, name)
    run_locally(split(), data(), counts_of(warmup=0, samples=3, bound=0))
    assert said == ["query", "submit", *["advance", "submit", "add"] * 2, "advance", "add"]


class RestingPool(LocalPool):
    """Loses each worker after its answer, while it is free, and has another one at once."""

    def events(self, worker, request, answer):
        return [Answered(worker, request, answer), Lost(worker, None, "ended"), Joined(worker)]


def test_a_worker_that_is_lost_while_it_is_free_is_asked_once():
    """A pool asserts that no worker has two requests, of which only one could be lost with it."""
    kernel, counts = split(), counts_of(workers=3, samples=12)
    found = run_locally(kernel, data(), counts, workers=3, pool=RestingPool)
    expected = draws_of(twin(kernel, found.ages[0]), counts, jax.random.key(0))
    assert_same(found.run.draws, expected, rtol=1e-5)


class LosingPool(LocalPool):
    """Forgets one request, and says nothing of it or that its worker is free."""

    says = ()

    def events(self, worker, request, answer):
        if request.server == 0 and request.step == 4:
            return [make(worker) for make in self.says]
        return super().events(worker, request, answer)


class ForgetfulPool(LosingPool):
    """Forgets what its worker was asked for, and says that it is free."""

    says = (Joined,)


@pytest.mark.parametrize("pool", [LosingPool, ForgetfulPool])
@pytest.mark.parametrize(("workers", "servers"), [(1, 1), (4, 2)])
def test_a_request_that_is_lost_ends_the_run(pool, workers, servers):
    """The other servers finish first. No wait is without an end."""
    counts = counts_of(workers=workers, servers=servers)
    with pytest.raises(RuntimeError, match=r"transition 4 of server 0; got .* a request was lost"):
        run_locally(split(), data(), counts, workers=workers, pool=pool)


class EmptyPool(LocalPool):
    """Has no workers."""

    def __init__(self, *given):
        super().__init__(*given)
        self._new = []


def test_workers_that_never_come_end_the_run():
    with pytest.raises(RuntimeError, match="transition 0 of server 0; got 0 free workers"):
        run_locally(split(), data(), counts_of(), pool=EmptyPool)


class NanPool(LocalPool):
    def events(self, worker, request, answer):
        if request.step == 5:
            answer = answer._replace(values=np.full_like(answer.values, np.nan))
        return super().events(worker, request, answer)


def test_a_gradient_that_is_not_finite_is_a_refused_transition():
    found = run_locally(split(), data(), counts_of(), pool=NanPool)
    assert np.asarray(found.run.fields["diverging"])[0].tolist() == [0, 0, 1, 0, 0, 0]
    assert all(np.isfinite(x).all() for x in found.run.draws.values())


@pytest.mark.long
def test_friction_is_that_of_each_gradients_own_age():
    """With one server and constant ages after the first ones, it is the twin's from then on."""
    options = {"remedy": "friction", "curvature": CURVATURE}
    kernel = split(preconditioner=None)
    fresh = run_locally(kernel, data(), counts_of(bound=0), **options)
    plain = run_locally(kernel, data(), counts_of(bound=0))
    assert_same(fresh.run.draws, plain.run.draws, rtol=1e-6)
    old = run_locally(kernel, data(), counts_of(workers=3), workers=3, **options)
    free = run_locally(kernel, data(), counts_of(workers=3), workers=3)
    assert np.array_equal(old.ages[0], free.ages[0])
    assert not np.allclose(old.run.draws["w"], free.run.draws["w"], rtol=1e-6)
    mean = float(old.run.tuned.remedy.mean_age)
    assert mean == pytest.approx(old.ages[0][3:].mean())


def test_schemes_that_chains_share_are_refused():
    from numpyro_sgmcmc import AsyncMCMC, SharedMinibatch

    kernel = SGLD(model, 1e-3, minibatch=SharedMinibatch(UniformMinibatch()))
    with pytest.raises(TypeError, match="each chain's own"):
        AsyncMCMC(kernel, num_warmup=1, num_samples=1)
