"""Functions of the model at many points: each point meets its own inputs, in whatever thread."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

from numpyro_sgmcmc import SGLD
from numpyro_sgmcmc.verdict import at_points as module
from numpyro_sgmcmc.verdict.at_points import at_points, random_rows, with_keys

N, FEW = 5_000, 3


def crossed(x):
    z = numpyro.sample("z", dist.Normal(0.0, 1.0).expand([2]).to_event(1))
    with numpyro.plate("rows", N, subsample_size=10) as rows:
        numpyro.sample("x", dist.Normal(z[0], 1.0), obs=x[rows])
    with numpyro.plate("others", FEW, subsample_size=2) as others:
        numpyro.sample("y", dist.Normal(z[1], 1.0), obs=x[others])


def target_of(x):
    kernel = SGLD(crossed, 1e-4)
    kernel.init(jax.random.key(0), 0, None, (x,), {})
    return kernel.memory.target


@pytest.fixture(scope="module")
def target():
    return target_of(jnp.arange(float(N)))


def squares(view, points, own, shared):
    return {"square": points**2, "own": own + shared, "data": points[:, 0] + view.args[0][1]}


@pytest.mark.parametrize("busy", [-1.0, np.inf], ids=["one by one", "in threads"])
@pytest.mark.parametrize("count", [1, 7, 8, 30])
def test_points_come_back_in_their_order(target, count, busy, monkeypatch):
    monkeypatch.setattr(module, "BUSY", busy)
    points = np.arange(2.0 * count, dtype=np.float32).reshape(count, 2)
    given = lambda places: (places.astype(np.float32),)  # noqa: E731
    found = at_points(target, squares, points, 8, np.float32(0.5), given=given)
    np.testing.assert_array_equal(found["square"], points**2)
    np.testing.assert_array_equal(found["own"], np.arange(count) + 0.5)
    np.testing.assert_array_equal(found["data"], points[:, 0] + 1)


def test_the_precision_of_the_calling_thread_holds_in_all():
    """A context manager of JAX that enables double precision holds for one thread alone."""
    with jax.enable_x64(True):
        target = target_of(jnp.arange(float(N)))
        points = 1 + np.arange(60.0).reshape(30, 2) / 2**40
        given = lambda places: (places / 3,)  # noqa: E731
        found = at_points(target, squares, points, 8, 0.0, given=given)
    np.testing.assert_array_equal(found["square"], points**2)
    np.testing.assert_array_equal(found["own"], np.arange(30) / 3)


def test_each_point_has_a_key_of_its_own(target):
    def uniform(view, points, keys):
        return jax.vmap(jax.random.uniform)(keys)

    points = np.zeros((30, 2), np.float32)
    first, second = (
        with_keys(target, uniform, points, 8, jax.random.key(k), name="uniform") for k in (0, 1)
    )
    # Two of 60 numbers with 23 bits agree with probability 2e-4; the keys are fixed.
    assert len(np.unique(np.concatenate([first, second]))) == 60


def test_rows_are_uniform_and_fresh(target):
    given = random_rows(target.structure, jax.random.key(0), 400)
    (first,), (second,), (again,) = (given(np.arange(25) + at) for at in (0, 25, 0))
    assert first["rows"].shape == (25, 400)
    np.testing.assert_array_equal(first["others"], np.tile(np.arange(FEW), (25, 1)))
    np.testing.assert_array_equal(first["rows"], again["rows"])
    # Of 400 pairs 0.08 agree; more than 4 have probability 3e-8, times 25.
    assert np.all(np.sum(first["rows"] == second["rows"], axis=1) <= 4)
    assert np.all(np.sum(first["rows"][:-1] == first["rows"][1:], axis=1) <= 4)
    counts = np.bincount(np.concatenate([first["rows"], second["rows"]]).ravel() // 500)
    assert len(counts) == N // 500
    # Chi-squared with 9 degrees of freedom: above 39.3 with probability 1e-5.
    assert np.sum((counts - 2_000) ** 2) / 2_000 < 39.3
