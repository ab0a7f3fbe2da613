"""Directions of large gradient noise: exact products, and the step size that they allow."""

from dataclasses import replace
from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import init_to_uniform

from numpyro_sgmcmc import Diagonal, FixedPoint, Plain, Splitting, UniformMinibatch
from numpyro_sgmcmc.cpu import assembly
from numpyro_sgmcmc.gradient import Anchor
from numpyro_sgmcmc.model import read_structure
from numpyro_sgmcmc.preconditioner import Coupled
from numpyro_sgmcmc.preparation import Target, tuning
from numpyro_sgmcmc.preparation.lanczos import lanczos
from numpyro_sgmcmc.preparation.noisy_directions import largest_deficit, noise_product
from numpyro_sgmcmc.preparation.options import Options
from numpyro_sgmcmc.preparation.thresholds import ADDED_DIRECTIONS, TOLERANCE
from numpyro_sgmcmc.subspace import Group, Subspace
from tests.oracles import linear, recursion

KEYS = jax.random.split(jax.random.key(0), 8)


def matrix(fn, size):
    return np.asarray(jax.vmap(fn, out_axes=1)(jnp.eye(size)), np.float64)


def test_lanczos_finds_both_ends_of_an_indefinite_matrix():
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.normal(size=(60, 60)))[0]
    values = np.concatenate([np.linspace(-2, 2, 57), [5.0, 6.0, 9.0]])
    whole = jnp.asarray(axes * values @ axes.T, jnp.float32)
    start = jnp.asarray(rng.normal(size=60), jnp.float32)
    found, vectors = jax.jit(lambda x: lanczos(lambda u: whole @ u, x, 40))(start)
    # Rounding in single precision; the rest has converged.
    np.testing.assert_allclose(found[-3:], values[-3:], atol=1e-4)
    np.testing.assert_allclose(found[0], -2.0, atol=1e-2)
    np.testing.assert_allclose(np.abs(vectors[-3:] @ axes[:, -3:]), np.eye(3), atol=1e-3)


@pytest.mark.parametrize(
    ("gradient", "many"),
    [(Plain(), None), (FixedPoint(), None), (FixedPoint(), 1)],
    ids=["plain", "fixed point", "long vectors"],
)
def test_products_are_those_with_the_covariance_over_all_rows(gradient, many, monkeypatch):
    """All rows are few enough to be taken, so that only n - 1 instead of n differs.

    Long vectors are assembled on CPUs by a function without a derivative in forward mode.
    """
    if many is not None:
        monkeypatch.setattr(assembly, "MANY_NUMBERS", many)
    rng = np.random.default_rng(0)
    design = rng.normal(size=(40, 2, 5))
    data = design, design @ rng.normal(size=5) + rng.normal(size=(40, 2)), np.array([0.5, 2.0])
    args = (*(jnp.asarray(x, jnp.float32) for x in data), 8)
    target = Target(read_structure(linear.model, args, {}), UniformMinibatch(), args, {})
    points = np.asarray(jax.random.normal(KEYS[0], (3, 5)), np.float64)
    scale = np.linspace(0.5, 2.0, 5)
    at = np.full(5, 0.3)
    anchor = Anchor(jnp.asarray(at, jnp.float32), jnp.zeros(()), jnp.zeros(5))

    def whole(view, points, anchor, key):
        linear_map = Diagonal(jnp.asarray(scale, jnp.float32))
        product = noise_product(view, gradient, anchor, linear_map, points, key)
        return jax.vmap(product)(jnp.eye(5))

    inputs = jnp.asarray(points, jnp.float32), anchor, KEYS[1]
    found = target.run(whole, *inputs, name=type(gradient).__name__)
    exact = linear.posterior(*data)
    noise = exact.noise(8, anchor=at if isinstance(gradient, FixedPoint) else None)
    expected = np.zeros((5, 5))
    for point in points:
        errors = noise.constant + noise.linear @ (point - exact.mode)
        expected += scale[:, None] * (errors.T @ errors) * scale / (39 * 8) / len(points)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())


@pytest.mark.parametrize("size", [16, 2**31])
def test_products_fall_with_the_size_of_the_minibatch_beyond_integers_of_32_bits(size):
    design = np.random.default_rng(0).normal(size=(40, 2, 5))
    args = (*(jnp.asarray(x, jnp.float32) for x in (design, design.sum(2), [0.5, 2.0])), 8)
    target = Target(read_structure(linear.model, args, {}), UniformMinibatch(), args, {})

    def product(view, size):
        ((name, plate),) = view.plates.items()
        plates = {name: plate._replace(subsample_size=size)}
        larger = replace(view, structure=replace(view.structure, plates=plates))
        scale = Diagonal(jnp.ones(5))
        return noise_product(larger, Plain(), None, scale, jnp.ones((3, 5)), KEYS[1])(jnp.ones(5))

    small, large = (target.run(partial(product, size=b), name=("product", b)) for b in (8, size))
    # The same product, divided by another power of two.
    np.testing.assert_array_equal(large, small * (8 / size))


ROWS, BATCH, SIZE, LOUD = 2_000, 200, 504, 100.0


def repeated(y, scale):
    """y_i ~ N(theta, scale^2): noise that does not depend on theta, and a posterior c I."""
    theta = numpyro.sample("theta", dist.Normal(0.0, 1.0).expand([SIZE]).to_event(1))
    with numpyro.plate("rows", len(y), subsample_size=BATCH) as rows:
        numpyro.sample("y", dist.Normal(theta, scale).to_event(1), obs=y[rows])


@cache
def problem():
    """Rows that differ a hundred times as much along a direction of all coordinates."""
    rng = np.random.default_rng(1)
    direction = rng.normal(size=SIZE)
    direction /= np.linalg.norm(direction)
    y = np.sqrt(0.1) * rng.normal(size=(ROWS, SIZE))
    y += np.sqrt(0.1 * (LOUD - 1)) * rng.normal(size=(ROWS, 1)) * direction
    precision = 1.0 + ROWS
    covariance = ROWS**2 / BATCH * np.cov(y.T, bias=True) / precision
    args = (jnp.asarray(y, jnp.float32), 1.0)
    return args, covariance, ROWS * y.mean(0) / precision, precision


def chosen(monkeypatch=None):
    """Return what the warm-up chooses at exact draws, with or without the added directions."""
    args, _, mode, precision = problem()
    if monkeypatch is not None:
        monkeypatch.setattr(tuning, "_is_held_back", lambda *_: False)
    target = Target(read_structure(repeated, args, {}), UniformMinibatch(), args, {})
    draws = jax.random.normal(KEYS[2], (128, SIZE)) / np.sqrt(precision)
    points = jnp.asarray(mode, jnp.float32) + draws
    scale = jnp.full(SIZE, precision**-0.5)
    subspace = Subspace.of((Group(SIZE, 1),), 1 / scale)
    start = Coupled(scale, subspace, jnp.eye(1), jnp.ones(SIZE))
    options = Options(
        dynamics=Splitting(),
        step_size=None,
        has_constant_step_size=True,
        gradient=Plain(),
        temperature=1.0,
        minibatch=UniformMinibatch(),
        preconditioner=None,
        noise_correction=None,
        num_steps=None,
        max_num_steps=1_024,
        init_strategy=init_to_uniform,
    )
    anchor = Anchor(points[0], jnp.zeros(()), jnp.zeros(SIZE))
    return tuning.choose_numbers(
        target, KEYS[3], options, (Plain(),), start, anchor, points, jnp.ones(())
    )


def relative_variances(adaptation, linear_map):
    """Return the stationary variances over those of the posterior, along all its directions.

    In the eigenbasis of G = S'HS a step is the same recursion of two numbers for each direction,
    driven by noise that directions have in common. With r_i(k) the response of direction i after k
    steps, the covariance of i and j is sum_k r_i(k) r_j(k) times the noise's.
    """
    _, covariance, _, precision = problem()
    h, friction = float(adaptation.step_size), float(adaptation.friction)
    s = matrix(linear_map.apply, SIZE)
    values, axes = np.linalg.eigh(precision * s.T @ s)
    seen = np.sqrt(precision) * s @ axes
    added = h**2 * seen.T @ covariance @ seen
    if adaptation.correction is None:
        heat = np.eye(SIZE)
    else:
        dynamics = Splitting(friction=friction)
        correction = adaptation.correction
        heat = matrix(lambda x: correction.reduce(x, lambda v: dynamics.heating(v, h)), SIZE)
    added = added + 2 * friction * h * axes.T @ heat @ heat.T @ axes
    one = recursion.splitting(h, np.eye(1), friction)
    load = one.heat[:, 0] / np.sqrt(2 * friction)
    moves = one.free + values[:, None, None] * (one.kick @ one.look)
    state, responses = np.tile(load, (SIZE, 1)), []
    while np.abs(state).max() > 1e-4 * np.abs(load).max():
        responses.append(state[:, 0])
        state = np.einsum("nij,nj->ni", moves, state)
    r = np.array(responses)
    root = np.sqrt(values)
    return np.linalg.eigvalsh(root[:, None] * (r.T @ r * added) * root)


@pytest.mark.long
def test_a_noisy_direction_across_coordinates_does_not_set_the_step_of_all(monkeypatch):
    """The step size grows tenfold at least, and every variance is within the tolerance.

    Half of the tolerance is that of noise which is not known; what is corrected has the error of
    its estimate from 2,048 gradients besides, 3 % of at most 30 %.
    """
    with monkeypatch.context() as patch:
        before, _ = chosen(patch)
    after, linear_map = chosen()
    assert before.noisy_directions is None and after.noisy_directions == ADDED_DIRECTIONS
    assert float(after.step_size) > 10 * float(before.step_size)
    found = relative_variances(after, linear_map)
    assert np.abs(found - 1).max() < TOLERANCE


SILENT = 40


@cache
def quiet_problem():
    """Rows that do not differ in some directions of all coordinates, and alike in all others."""
    rng = np.random.default_rng(2)
    loud = np.linalg.qr(rng.normal(size=(SIZE, SIZE - SILENT)))[0]
    apart = rng.normal(size=(ROWS, SIZE - SILENT))
    y = np.sqrt(ROWS / 10) * np.linalg.qr(apart - apart.mean(0))[0] @ loud.T
    precision = 1.0 + ROWS
    covariance = ROWS**2 / BATCH * np.cov(y.T, bias=True) / precision
    return (jnp.asarray(y, jnp.float32), 1.0), covariance, ROWS * y.mean(0) / precision, precision


@pytest.mark.long
def test_noise_is_not_taken_out_where_there_is_none(monkeypatch):
    """Every coordinate is noisy, and some directions of all coordinates are silent.

    A correction of coordinates cools these by what it takes out: by half of the tolerance at most,
    and a tenth more because the largest deficit is found in few directions. Without looking for
    them it is more.
    """
    monkeypatch.setattr("tests.parts.test_noisy_directions.problem", quiet_problem)
    _, covariance, _, _ = quiet_problem()
    variances = np.diag(covariance)
    exact = np.linalg.eigvalsh(np.diag(variances) - covariance)[-1]
    deficits = []

    def deficit(*inputs):
        deficits.append(float(largest_deficit(*inputs)))
        return jnp.asarray(deficits[-1])

    with monkeypatch.context() as patch:
        patch.setattr(tuning, "_may_exceed", lambda *_: False)
        blind = relative_variances(*chosen())
    monkeypatch.setattr(tuning, "largest_deficit", deficit)
    found = relative_variances(*chosen())
    # The measured variances of coordinates are 3 % off, the largest of them 10 %.
    assert 0.9 * exact < deficits[0] < 1.1 * exact
    assert blind.min() < 1 - 1.1 * TOLERANCE / 2 < found.min()
    assert found.max() < 1 + TOLERANCE / 2
