"""Old gradients: zero age is the kernel itself, and every age is the point that it says."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from numpyro_sgmcmc import (
    SAGALD,
    SGLD,
    SGNHT,
    Diagonal,
    GeometricDelay,
    ReshuffledMinibatch,
    RichardsonRomberg,
    RMSProp,
    SGHMCSplit,
    SharedMinibatch,
    StaleGradient,
    UniformDelay,
    tune,
)
from numpyro_sgmcmc.minibatch import AbstractMinibatch
from numpyro_sgmcmc.model import stochastic_potential
from numpyro_sgmcmc.types import Minibatch
from tests.contract.problem import ANCHOR, BASES, assert_same, build, data, mcmc_of, model
from tests.marks import rarely
from tests.registry import KERNELS

FRESH = [
    name
    for name in BASES
    if name != "SAGALD" and not KERNELS[name].age and KERNELS[name].replicas == 1
]
ZERO = {
    "an integer": lambda kernel: StaleGradient(kernel, 0),
    "a function": lambda kernel: StaleGradient(kernel, lambda count: 0 * count, max_staleness=3),
    "a law": lambda kernel: StaleGradient(kernel, UniformDelay(0)),
}


def draws_of(kernel, **options):
    mcmc = mcmc_of(kernel, **options)
    mcmc.run(jax.random.key(0), *data())
    return mcmc.get_samples(group_by_chain=True), mcmc


def same_bits(first, second):
    return all(
        np.array_equal(a, b)
        for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True)
    )


@pytest.mark.long
@pytest.mark.parametrize("name", rarely(FRESH, ["SGHMCSplit", "SVRGLD"]))
def test_age_zero_is_the_kernel_bit_by_bit(name):
    expected, _ = draws_of(build(name))
    for wrap in ZERO.values():
        found, mcmc = draws_of(wrap(build(name)))
        assert same_bits(expected, found)
        assert not np.any(mcmc.get_extra_fields()["staleness"])


@pytest.mark.long
@pytest.mark.parametrize(
    "scheme",
    [ReshuffledMinibatch(), pytest.param(SharedMinibatch(), marks=pytest.mark.release)],
)
def test_age_zero_with_other_schemes(scheme):
    expected, _ = draws_of(build("SGLD", minibatch=scheme))
    found, _ = draws_of(StaleGradient(build("SGLD", minibatch=scheme), 0))
    assert same_bits(expected, found)


class InOrder(AbstractMinibatch):
    """Rows 0 to 5, then 6 to 11, and so on."""

    batches = np.arange(54).reshape(9, 6) % 48

    def init(self, key, plates):
        return ()

    def draw(self, key, count, plates, state):
        return {"rows": jnp.asarray(self.batches)[count]}, state


def test_gradients_are_those_of_the_old_points():
    """Langevin steps of one chain, followed by hand with the kernel's own minibatches."""
    batches = InOrder.batches
    inner = SGLD(model, 1e-3, temperature=0.0, minibatch=InOrder())
    kernel = StaleGradient(inner, lambda count: (3 * count) % 5, max_staleness=4)
    state = kernel.init(jax.random.key(0), 0, ANCHOR, data(), {})
    step = jax.jit(lambda state: kernel.sample(state, data(), {}))
    target = kernel.memory.target
    points, ages = [target.structure.ravel(state.z)], []
    for _ in range(9):
        state = step(state)
        points.append(target.structure.ravel(state.z))
        ages.append(float(state.staleness))
    expected = [min((3 * n) % 5, n) for n in range(9)]
    assert ages == expected
    gradient = jax.jit(jax.grad(stochastic_potential(target.structure, data(), {})))
    for n, age in enumerate(expected):
        found = gradient(points[n - age], Minibatch({"rows": jnp.asarray(batches[n])}))
        np.testing.assert_allclose(points[n + 1] - points[n], -1e-3 * found, rtol=2e-3, atol=1e-6)


def test_staleness_of_a_draw_is_the_mean_age_of_its_gradients():
    kernel = StaleGradient(build("SGHMCSplit", num_steps=10), UniformDelay(4))
    _, mcmc = draws_of(kernel, warmup=3)
    found = np.asarray(mcmc.get_extra_fields(group_by_chain=True)["staleness"])
    assert found.shape == (2, 6)
    # The mean of 120 ages with variance 2 has the standard error 0.13: 4 of them, 6e-5.
    assert abs(found.mean() - 2) < 4 * np.sqrt(2 / found.size / 10)
    np.testing.assert_allclose(found * 10, np.round(found * 10), atol=1e-4)
    assert not np.array_equal(found[0], found[1])


@pytest.mark.long
def test_a_run_that_goes_on_is_the_run_without_a_break():
    kernel = StaleGradient(build("SGHMCSplit"), UniformDelay(4), remedy=None)
    whole, _ = draws_of(kernel, num_samples=6)
    mcmc = mcmc_of(kernel, num_samples=3)
    mcmc.run(jax.random.key(0), *data())
    first = mcmc.get_samples(group_by_chain=True)
    mcmc.post_warmup_state = mcmc.last_state
    mcmc.run(mcmc.last_state.rng_key, *data())
    second = mcmc.get_samples(group_by_chain=True)
    both = jax.tree.map(lambda a, b: jnp.concatenate([a, b], axis=1), first, second)
    assert_same(both, whole)


@pytest.mark.long
def test_other_ages_give_other_draws_and_the_same_ages_the_same():
    first, _ = draws_of(StaleGradient(build("SGLD"), UniformDelay(4)))
    again, _ = draws_of(StaleGradient(build("SGLD"), UniformDelay(4)))
    other, _ = draws_of(StaleGradient(build("SGLD"), 2))
    assert same_bits(first, again)
    assert not same_bits(first, other)


INNER = lambda: SGHMCSplit(model, 1e-3, friction=5.0)  # noqa: E731
REFUSED = {
    "a table": (lambda: StaleGradient(SAGALD(model, 1e-3), 2), TypeError, "SAGA"),
    "a moving preconditioner": (
        lambda: StaleGradient(SGLD(model, 1e-3, preconditioner=RMSProp()), 2),
        TypeError,
        "RMSProp",
    ),
    "two delays": (
        lambda: StaleGradient(StaleGradient(INNER(), 1), 2),
        TypeError,
        "Add up the delays",
    ),
    "an extrapolation": (
        lambda: StaleGradient(RichardsonRomberg(INNER()), 2),
        TypeError,
        "RichardsonRomberg",
    ),
    "extrapolated": (
        lambda: RichardsonRomberg(StaleGradient(INNER(), 2)),
        TypeError,
        "different times",
    ),
    "searched": (
        lambda: tune(StaleGradient(INNER(), 2), *data(), budget=100),
        TypeError,
        "Tune the kernel inside",
    ),
    "a class": (lambda: StaleGradient(INNER(), UniformDelay), TypeError, "the class"),
    "a float": (lambda: StaleGradient(INNER(), 2.5), TypeError, "distribution of ages"),
    "a bool": (lambda: StaleGradient(INNER(), True), TypeError, "distribution of ages"),
    "negative": (lambda: StaleGradient(INNER(), -1), ValueError, "non-negative"),
    "too old": (lambda: StaleGradient(INNER(), 5, max_staleness=4), ValueError, "at most"),
    "no bound": (lambda: StaleGradient(INNER(), lambda c: c % 3), ValueError, "max_staleness"),
    "no geometric bound": (
        lambda: StaleGradient(INNER(), GeometricDelay(2.0)),
        ValueError,
        "max_staleness",
    ),
    "a function beyond its bound": (
        lambda: StaleGradient(INNER(), lambda c: c % 9, max_staleness=4),
        ValueError,
        "from 0 to max_staleness = 4; got 0 to 8",
    ),
    "a function of floats": (
        lambda: StaleGradient(INNER(), lambda c: 0.5 * c, max_staleness=4),
        TypeError,
        "integer age",
    ),
    "an unknown remedy": (
        lambda: StaleGradient(INNER(), 2, remedy="hope"),
        ValueError,
        "friction",
    ),
    "friction without friction": (
        lambda: StaleGradient(SGLD(model, 1e-3), 2, remedy="friction"),
        TypeError,
        "Langevin",
    ),
    "friction beside a thermostat": (
        lambda: StaleGradient(SGNHT(model, 1e-3, friction=5.0), 2, remedy="friction"),
        TypeError,
        "NoseHoover",
    ),
    "curvature for nothing": (
        lambda: StaleGradient(INNER(), 2, curvature=np.ones(3)),
        ValueError,
        "remedy",
    ),
    "an indefinite curvature": (
        lambda: StaleGradient(INNER(), 2, remedy="curvature", curvature=np.diag([1.0, -1.0, 2.0])),
        ValueError,
        "positive definite",
    ),
    "a curvature of the wrong rank": (
        lambda: StaleGradient(INNER(), 2, remedy="curvature", curvature=1.0),
        ValueError,
        "shape",
    ),
    "a curvature of the wrong size": (
        lambda: StaleGradient(INNER(), 2, remedy="curvature", curvature=np.ones(2)).init(
            jax.random.key(0), 0, None, data(), {}
        ),
        ValueError,
        "3 unconstrained",
    ),
    "no curvature": (
        lambda: StaleGradient(INNER(), 2, remedy="curvature").init(
            jax.random.key(0), 0, None, data(), {}
        ),
        ValueError,
        "Pass curvature",
    ),
}


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_what_cannot_work_is_refused(case):
    make, error, words = REFUSED[case]
    with pytest.raises(error, match=words):
        make()


def test_a_given_preconditioner_is_the_curvature():
    inner = SGHMCSplit(model, 0.05, friction=1.5, preconditioner=Diagonal(jnp.full(3, 0.2)))
    kernel = StaleGradient(inner, 2, remedy="friction")
    state = kernel.init(jax.random.key(0), 0, None, data(), {})
    np.testing.assert_allclose(state.tuned.remedy.curvature, np.ones(3), rtol=1e-5)
    own = StaleGradient(inner, 2, remedy="friction", curvature=np.array([25.0, 50.0, 100.0]))
    state = own.init(jax.random.key(0), 0, None, data(), {})
    np.testing.assert_allclose(state.tuned.remedy.curvature, [1.0, 2.0, 4.0], rtol=1e-5)
