"""SVRG and SAGA: unbiased whatever they remember, renewed when due, refused with sizes."""

from functools import partial
from itertools import product
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from numpyro_sgmcmc import SAGA, SAGALD, SGLD, SVRG, SVRGLD, RichardsonRomberg
from numpyro_sgmcmc.minibatch import UniformMinibatch
from numpyro_sgmcmc.preparation import Target
from numpyro_sgmcmc.types import Minibatch, Plate
from tests.parts.test_gradients import POSITIONS, POTENTIAL, ROWS, STRUCTURE, X, Y, model, whole

START = jnp.array([0.3, -0.2, 0.5])
TARGET = Target(STRUCTURE, UniformMinibatch(), (X, Y, 2), {})


def started(estimator):
    return TARGET.run(lambda view, z: estimator.init(view, z, None), START, name=estimator)


@jax.jit
def estimate(estimator, position, batch, state):
    return estimator.estimate(POTENTIAL, position, batch, state)


def test_start_is_exact():
    energy, gradient = whole(START)
    anchor = started(SVRG())
    np.testing.assert_allclose(anchor.gradient, gradient, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(anchor.potential_energy, energy, rtol=1e-5)
    table = started(SAGA())
    assert table.rows.shape == (ROWS, 3)
    np.testing.assert_allclose(table.mean, gradient, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("estimator", [SVRG(), SAGA()], ids=["SVRG", "SAGA"])
def test_mean_over_all_minibatches_is_the_full_gradient(estimator):
    """After some steps elsewhere, too, when SAGA's table holds gradients of several positions."""
    state = started(estimator)
    for rows, position in (([0, 3], POSITIONS[1]), ([2, 2], POSITIONS[2])):
        batch = Minibatch({"rows": jnp.array(rows)})
        _, state = estimate(estimator, position, batch, state)
    batches = jnp.array(list(product(range(ROWS), repeat=2)))

    both = jax.vmap(estimate, in_axes=(None, None, 0, None))
    found = both(estimator, POSITIONS[0], Minibatch({"rows": batches}), state)[0].gradient.mean(0)
    np.testing.assert_allclose(found, whole(POSITIONS[0])[1], rtol=1e-4, atol=1e-4)


def test_saga_remembers_each_row_once():
    state = started(SAGA())
    batch = Minibatch({"rows": jnp.array([4, 1, 4])})
    _, after = estimate(SAGA(), POSITIONS[1], batch, state)
    for row in range(ROWS):
        alone = jax.jit(jax.grad(POTENTIAL))(POSITIONS[1], Minibatch({"rows": jnp.array([row])}))
        expected = alone if row in (1, 4) else state.rows[row]
        np.testing.assert_allclose(after.rows[row], expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(after.mean, after.rows.mean(0), rtol=1e-4, atol=1e-4)


def test_saga_keeps_out_what_is_not_finite():
    state = started(SAGA())
    bad = lambda z, batch: jnp.where(batch.indices["rows"][0] == 2, jnp.nan, 1.0) * z.sum()  # noqa: E731
    _, after = SAGA().estimate(bad, START, Minibatch({"rows": jnp.array([2, 3])}), state)
    np.testing.assert_array_equal(after.rows[2], state.rows[2])
    np.testing.assert_array_equal(after.rows[3], jnp.ones(3))
    assert jnp.isfinite(after.mean).all()


def test_saga_names_the_size_that_it_refuses():
    kernel = SAGALD(model, 1e-3, max_bytes=59)
    with pytest.raises(ValueError, match=r"at most max_bytes = 59 .* 5 rows of plate 'rows' .* 60"):
        kernel.init(jax.random.key(0), 0, None, (X, Y, 2), {})
    with pytest.raises(ValueError, match=r"`max_bytes`"):
        SAGA(max_bytes=0)


def test_saga_refuses_several_plates():
    whole = SimpleNamespace(plates={"a": Plate(4, 2), "b": Plate(4, 2)})
    with pytest.raises(ValueError, match=r"one subsampled plate for SAGA; got 2: 'a', 'b'"):
        SAGA().init(whole, START, None)


@pytest.mark.parametrize("period", [0, -1, 2.5])
def test_period_is_checked(period):
    with pytest.raises((TypeError, ValueError), match="`period`"):
        SVRGLD(model, 1e-3, period=period)
    with pytest.raises(TypeError, match="unexpected keyword argument 'gradient'"):
        SVRGLD(model, 1e-3, gradient=SAGA())


def test_period_is_an_epoch_unless_given():
    plates = {"a": Plate(10, 3), "b": Plate(100, 50)}
    assert SVRG().renewal_period(plates) == 4
    assert SVRG(7).renewal_period(plates) == 7
    assert SVRG().renewal_period({}) is None


@pytest.mark.parametrize(
    ("num_steps", "every", "chains"),
    [
        (2, 2, None),
        pytest.param(1, 4, 3, marks=pytest.mark.long),
        pytest.param(5, 1, 3, marks=pytest.mark.long),
        pytest.param(1, 4, None, marks=pytest.mark.long),
        pytest.param(2, 2, 3, marks=pytest.mark.long),
        pytest.param(5, 1, None, marks=pytest.mark.long),
    ],
)
def test_anchor_is_renewed_at_the_walker(num_steps, every, chains):
    kernel = SVRGLD(model, 1e-3, period=4, num_steps=num_steps)
    key = jax.random.key(0) if chains is None else jax.random.split(jax.random.key(0), chains)
    state = kernel.init(key, 0, None, (X, Y, 2), {})
    sample = jax.jit(partial(kernel.sample, model_args=(X, Y, 2), model_kwargs={}))
    flat = lambda z: jax.vmap(lambda one: ravel_pytree(one)[0])(z) if chains else ravel_pytree(z)[0]  # noqa: E731
    anchor = flat(state.z)
    for count in range(9):
        if count and count % every == 0:
            anchor = flat(state.z)
        state = sample(state)
        np.testing.assert_array_equal(state.gradient.position, anchor)
    one = state.gradient if chains is None else jax.tree.map(lambda x: x[1], state.gradient)
    np.testing.assert_allclose(one.gradient, whole(one.position)[1], rtol=1e-4, atol=1e-4)


def test_each_walker_of_a_pair_has_its_own_anchor():
    kernel = RichardsonRomberg(SGLD(model, 1e-3, gradient=SVRG(1)))
    state = kernel.init(jax.random.key(0), 0, None, (X, Y, 2), {})
    sample = jax.jit(partial(kernel.sample, model_args=(X, Y, 2), model_kwargs={}))
    before = sample(state)
    after = sample(before)
    for anchor, z in ((after.gradient, before.z), (after.coarse.gradient, before.z_coarse)):
        np.testing.assert_array_equal(anchor.position, ravel_pytree(z)[0])
