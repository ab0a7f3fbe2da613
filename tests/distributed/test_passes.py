"""Passes over all rows that workers make: sums over parts, and a preparation that uses them."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

from numpyro_sgmcmc import SGLDFP, SGHMCSplit, StaleGradient
from numpyro_sgmcmc.distributed.job import Asked, first_states, model_of
from numpyro_sgmcmc.distributed.loop import MOST_LOSSES
from numpyro_sgmcmc.distributed.part_sums import PARTS, PartSums
from numpyro_sgmcmc.distributed.passes import WorkerPasses, are_long
from numpyro_sgmcmc.distributed.pool import Joined, Lost
from numpyro_sgmcmc.minibatch import UniformMinibatch
from numpyro_sgmcmc.model import read_structure
from numpyro_sgmcmc.preparation import Target, row_sums
from tests.contract.problem import assert_same
from tests.distributed.local import RandomPool, counts_of

ROWS, BATCH, COLUMNS = 1_003, 10, 3
"""The rows are no multiple of the parts: the last block repeats some."""


def rows(count=ROWS, columns=COLUMNS):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(count, columns)).astype(np.float32)
    return x, (x.sum(1) + rng.normal(size=count)).astype(np.float32)


def model(x, y, batch=BATCH):
    """A regression whose mode has to be searched for."""
    w = numpyro.sample("w", dist.Normal(0.0, 1.0).expand([x.shape[1]]).to_event(1))
    sigma = numpyro.sample("sigma", dist.HalfNormal(2.0))
    with numpyro.plate("rows", len(y), subsample_size=batch) as i:
        numpyro.sample("y", dist.Normal(x[i] @ w, sigma), obs=y[i])


def hierarchy(x, y, groups):
    """Effects that move in other coordinates, so that parts depend on weights."""
    tau = numpyro.sample("tau", dist.HalfNormal(1.0))
    with numpyro.plate("groups", 8):
        effects = numpyro.sample("effects", dist.Normal(0.0, tau))
    with numpyro.plate("rows", len(y), subsample_size=BATCH) as i:
        numpyro.sample("y", dist.Normal(effects[groups[i]], 1.0), obs=y[i])


class PartPool(RandomPool):
    """Adds up parts; `lost` tells from their count which answers are lost."""

    def __init__(self, given, workers=3, lost=lambda count: False):
        super().__init__()
        self._sums, self._lost = PartSums(given), lost
        self.free, self.numbers = list(range(workers)), []

    def hold(self, server, version, state):
        raise AssertionError

    def answer(self, part):
        return self._sums.part(part.number, part.task)

    def events(self, worker, request, answer):
        if self._lost(self.count):
            self._new = [Joined(worker)]
            return [Lost(worker, request, "ended")]
        self.numbers.append(request.number)
        return super().events(worker, request, answer)


def passes_of(kernel, args, **given):
    pool = PartPool(model_of(kernel, args, {}), **given)
    return WorkerPasses(pool, pool.free, kernel.options.latent_move), pool


def target_of(model, args):
    return Target(read_structure(model, args, {}), UniformMinibatch(), args, {})


SUMS = {
    "potentials": lambda z: (jnp.stack([z, z + 1.0]),),
    "value_and_grad": lambda z: (z,),
    "second_order": lambda z: (z,),
    "hessian_product": lambda z: (z, jnp.ones_like(z)),
}


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("which", ["regression", "hierarchy", "few rows"])
def test_parts_add_up_to_the_pass(name, which):
    """Also where blocks repeat rows, with effects in other coordinates, and with 20 rows."""
    args = rows(20 if which == "few rows" else ROWS)
    tested, centring = model, None
    if which == "hierarchy":
        tested, args = hierarchy, (*args, np.arange(ROWS) % 8)
        centring = {"effects": np.linspace(0.0, 1.0, 8, dtype=np.float32)}
    target = target_of(tested, args).partly_centred(centring)
    position = 0.1 * jnp.arange(1.0, 1.0 + target.structure.dimension)
    fn, inputs = getattr(row_sums, name), SUMS[name](position)
    passes, pool = passes_of(SGLDFP(tested, 1e-4), args)
    found = passes.total(fn, centring, inputs)
    whole = target.run(lambda view, *x: view.total(fn, *x), *inputs)
    assert sorted(pool.numbers) == list(range(PARTS))
    scale = max(float(np.abs(leaf).max()) for leaf in jax.tree.leaves(whole))
    assert_same(jax.tree.map(jnp.asarray, found), whole, rtol=1e-5, atol=1e-5 * scale)


def test_sums_depend_neither_on_workers_nor_on_faults():
    args, found = rows(), []
    for given in ({"workers": 1}, {"workers": 5, "lost": lambda count: count % 3 == 0}):
        passes, pool = passes_of(SGLDFP(model, 1e-4), args, **given)
        for _ in range(2):  # workers are free again
            found.append(passes.total(row_sums.value_and_grad, None, (jnp.ones(COLUMNS + 1),)))
        assert len(pool.numbers) == 2 * PARTS and pool.count >= 2 * PARTS
    for other in found[1:]:
        assert_same(other, found[0], rtol=0, atol=0)


@pytest.mark.parametrize("why", ["always lost", "vanished"])
def test_workers_that_do_not_answer_are_an_error(why):
    passes, pool = passes_of(SGLDFP(model, 1e-4), rows(), lost=lambda count: why == "always lost")
    if why == "vanished":
        pool.submit = lambda worker, request: None
    with pytest.raises(RuntimeError, match=r"Expected .*(raise `timeout`|Run again)"):
        passes.total(row_sums.value_and_grad, None, (jnp.ones(COLUMNS + 1),))
    assert pool.count == (MOST_LOSSES + 1 if why == "always lost" else 0)


def prepared(kernel, args, passes=None):
    """Return the first states, and the kernel that has prepared them."""
    stale = StaleGradient(kernel, 0)
    asked = Asked(jax.random.key(0), args, {})
    return first_states(stale, counts_of(warmup=100), asked, passes), stale


@pytest.mark.parametrize(
    "which", ["chosen", "given", pytest.param("high-dimensional", marks=pytest.mark.long)]
)
def test_the_preparation_leaves_its_passes_to_workers(which, monkeypatch):
    """It comes to what it comes to without workers, and passes over no rows in this process."""
    columns = 400 if which == "high-dimensional" else COLUMNS
    args = rows(columns=columns)
    make = {
        "chosen": lambda: SGHMCSplit(model),
        "given": lambda: SGLDFP(model, lambda count: 1e-4),  # which cannot be sent
        "high-dimensional": lambda: SGLDFP(model, 1e-6),
    }[which]
    alone, _ = prepared(make(), args)
    passes, pool = passes_of(make(), args)

    def refused(*given, **options):
        raise AssertionError("a pass over all rows in this process")

    with monkeypatch.context() as patched:
        patched.setattr("numpyro_sgmcmc.preparation.target.over_whole_data", refused)
        states, kernel = prepared(make(), args, passes)
    assert passes.count >= 2 and len(pool.numbers) == PARTS * passes.count
    assert_same(states.z, alone.z, rtol=1e-2, atol=1e-2)
    if which == "chosen":
        assert_same(states.tuned.step_size, alone.tuned.step_size, rtol=0.02)
    target = kernel.memory.target
    assert target is not None and target.passes is None  # the verdict needs no workers


def test_short_passes_and_other_models_stay_here():
    given = rows(ROWS)
    assert are_long(read_structure(model, given, {}))
    short = partial(model, batch=ROWS // 20)
    assert not are_long(read_structure(short, given, {}))
    passes, pool = passes_of(SGHMCSplit(short), given)
    prepared(SGLDFP(short, 1e-4), given, passes)
    assert not pool.numbers


def test_starts_of_ones_own_are_prepared_here():
    passes, pool = passes_of(SGLDFP(model, 1e-4), rows())
    asked = Asked(
        jax.random.key(0), rows(), {}, (), {"w": jnp.ones(COLUMNS), "sigma": jnp.zeros(())}
    )
    first_states(StaleGradient(SGLDFP(model, 1e-4), 0), counts_of(), asked, passes)
    assert not pool.numbers
