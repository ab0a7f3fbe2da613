"""More shared parameters than have a table of gradients, against exact recursions.

False-failure rate 6e-5 a comparison (z = 4 standard errors over independent chains); keys fixed.
"""

from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.infer import MCMC

import numpyro_sgmcmc as sg
from numpyro_sgmcmc.latents import PlainAtLatents, first_state
from numpyro_sgmcmc.latents.state import row_gradients
from numpyro_sgmcmc.model import read_structure, stochastic_potential
from numpyro_sgmcmc.preparation import View
from numpyro_sgmcmc.preparation.latents import Walkers, curvature_at_latents, noise_at_latents
from numpyro_sgmcmc.types import Minibatch
from tests.latents.test_gibbs import joint, point
from tests.latents.wide import DIMENSION, SPREAD, Y, noise_at, stationary, wide
from tests.oracles.monte_carlo import assert_averages

MOVE = 0.5
"""Step size of the moves, so small that nearly all are accepted: they keep 1 - MOVE^2 / 2."""
KEEPS = 1 - MOVE**2 / 2
H = 0.005
DATA = jnp.asarray(Y, jnp.float32)


@cache
def chains(dimension, count, burn_in, draws):
    """Return means of the first parameter, of its square and of the others', and last latents."""
    model = partial(wide, dimension=dimension)
    structure = read_structure(model, (DATA, 1), {})
    potential = stochastic_potential(structure, (DATA, 1), {})
    exact = stationary(H, KEEPS)

    def first(key):
        key_position, key_latents = jax.random.split(key)
        position = jax.random.normal(key_position, (dimension,))
        position = position.at[0].set(exact.mean + exact.variance**0.5 * position[0])
        own = jnp.full(len(Y), 1 / (1 + 1 / SPREAD**2))
        latents = own * (position[0] / SPREAD**2 + DATA)
        latents = latents + own**0.5 * jax.random.normal(key_latents, latents.shape)
        given = latents[:, None], own[:, None, None] ** 0.5, jnp.asarray(MOVE)
        return position, first_state(potential, position, *given, has_table=False)

    def step(position, state, key):
        key_row, key_move, key_noise = jax.random.split(key, 3)
        minibatch = Minibatch({"rows": jax.random.randint(key_row, (1,), 0, len(Y))}, key_move)
        estimate, state = PlainAtLatents().estimate(potential, position, minibatch, state)
        noise = jnp.sqrt(2 * H) * jax.random.normal(key_noise, position.shape)
        return position - H * estimate.gradient + noise, state

    @jax.jit
    @jax.vmap
    def run(key):
        def body(number, carry):
            position, state, total = carry
            position, state = step(position, state, jax.random.fold_in(key, number))
            z, others = position[0] - exact.mean, position[1:]
            found = jnp.stack([z, z**2, jnp.mean(others**2)])
            return position, state, total + jnp.where(number >= burn_in, found, 0.0)

        carry = (*first(jax.random.fold_in(key, burn_in + draws)), jnp.zeros(3))
        return jax.lax.fori_loop(0, burn_in + draws, body, carry)

    _, state, total = run(jax.random.split(jax.random.key(0), count))
    return np.asarray(total, np.float64) / draws, state


@pytest.mark.parametrize("name", ["belief", "both"])
def test_the_estimate_is_the_mean_of_the_gradients_before_and_after_the_moves(name):
    """An identity, to rounding, with the latents that are kept; a row drawn twice moves once."""
    _, y, structure, potential = joint(name)
    position, size = point(structure), len(y)
    width = structure.local.dimension
    values = potential.drawn(jax.random.key(3), position, jnp.arange(size))
    factor = jnp.broadcast_to(jnp.eye(width), (size, width, width))
    given = jnp.zeros((size, width)), factor, jnp.ones(()), values
    state = first_state(potential, position, *given, has_table=False)

    @jax.jit
    def estimates(row, key):
        once = Minibatch({"rows": row[None]}, key)
        found, after = PlainAtLatents().estimate(potential, position, once, state)
        twice = Minibatch({"rows": jnp.stack([row, row])}, key)
        _, again = PlainAtLatents().estimate(potential, position, twice, state)
        slopes = [row_gradients(potential, position, s.values, s.discrete) for s in (state, after)]
        expected = jax.grad(potential.shared)(position) + size * sum(slopes)[row] / 2
        return found.gradient, expected, after, again

    rows, keys = jnp.arange(size), jax.random.split(jax.random.key(4), size)
    found, expected, after, again = jax.vmap(estimates)(rows, keys)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert (after.values != state.values).any() or (after.discrete != state.discrete).any()
    for one in (after, again):
        np.testing.assert_array_equal(one.visits, jnp.eye(size))


@pytest.mark.long
def test_moments_are_those_of_the_exact_recursion():
    """The variance's excess, 9 %, is told from 0 and from that of the new latents alone."""
    count = 2_000
    found, latents = chains(2, count, 300, 1_200)
    exact = stationary(H, KEEPS)
    shift = exact.found_mean - exact.mean
    expected = [shift, exact.found_variance + shift**2, 1 / (1 - H / 2)]
    assert_averages(found, np.array(expected))
    assert float(latents.acceptance.min()) > 0.98
    error = found[:, 1].std(ddof=1) / count**0.5
    for other in (exact.variance, stationary(H, KEEPS, 1.0).found_variance):
        assert abs(exact.found_variance - other) > 4 * error


@pytest.mark.long
def test_a_kernel_has_the_moments_of_the_recursion():
    """All 301 parameters through `SGLD`, with the moves' step size that makes the oracle exact."""
    count, burn_in, draws, args = 100, 400, 1_200, (DATA, 1)
    exact, kernel = stationary(H, KEEPS), sg.SGLD(wide, H, num_steps=20)
    start = jax.random.normal(jax.random.key(1), (count, DIMENSION))
    start = start.at[:, 0].set(exact.mean + exact.variance**0.5 * start[:, 0])
    state = kernel.init(jax.random.split(jax.random.key(0), count), 0, {"theta": start}, args, {})
    assert isinstance(state.tuned.gradient, PlainAtLatents)
    assert state.gradient.table.shape == (count, len(Y), 0)
    state = state._replace(gradient=state.gradient._replace(step=jnp.full(count, MOVE)))

    @jax.jit
    def run(state):
        def collect(state, _):
            state = kernel.sample(state, args, {})
            z, others = state.z["theta"][:, 0] - exact.mean, state.z["theta"][:, 1:]
            return state, jnp.stack([z, z**2, jnp.mean(others**2, axis=1)], axis=1)

        return jax.lax.scan(collect, state, None, length=(burn_in + draws) // 20)[1]

    found = np.asarray(run(state), np.float64)[burn_in // 20 :].mean(0)
    assert_averages(found, np.array([0.0, exact.found_variance, 1 / (1 - H / 2)]))


@pytest.mark.parametrize("h", [0.001, 0.005, 0.02])
@pytest.mark.parametrize("keeps", [0.0, 0.5, 0.9, 0.99])
def test_the_excess_is_within_what_a_verdict_says(h, keeps):
    """Exactly, by the recursion: between 0 and heating and step size together."""
    exact = stationary(h, keeps)
    excess = exact.found_variance / exact.variance - 1
    curvature = 1 + len(Y) / 0.2
    by_step = 1 / (1 - h * curvature / 2) - 1
    assert 0 < excess < h / 2 * mean_noise(keeps) + by_step
    old = stationary(h, keeps, 0.0).found_variance / exact.variance - 1
    new = stationary(h, keeps, 1.0).found_variance / exact.variance - 1
    assert old < excess < new


def mean_noise(keeps):
    """Return the noise's mean over the joint posterior, by many exact draws."""
    rng, q = np.random.default_rng(0), 5.0
    exact = stationary(1e-3, keeps)
    z = exact.mean + exact.variance**0.5 * rng.standard_normal(2_000)
    own = 1 / (q + 1)
    centre = own * (q * z[:, None] + Y)
    latents = centre + own**0.5 * rng.standard_normal(centre.shape)
    return np.mean([noise_at(*one, keeps) for one in zip(z, latents, strict=True)])


@pytest.mark.long
def test_a_verdict_knows_the_noise_and_the_curvature():
    """The noise's variance is measured by 256 estimates at each of 4 states.

    The standard error of the variance of n estimates with kurtosis 3 or less is sqrt(2 / n) of it.
    """
    chains, h = 4, 0.02
    options = {"num_chains": chains, "chain_method": "vectorized", "progress_bar": False}
    mcmc = MCMC(sg.SGLD(wide, h, num_steps=20), num_warmup=20, num_samples=400, **options)
    mcmc.run(jax.random.key(2), DATA, 1)
    found, state = sg.diagnose(mcmc), mcmc.last_state
    assert found.sentence.startswith("Not calibrated"), found.sentence
    assert "gradient noise inflates the standard deviation of 'theta'" in found.sentence
    assert "step_size=None" in found.sentence
    for remedy in ("FixedPoint", "noise_correction"):
        assert remedy not in found.sentence
    np.testing.assert_allclose(found.curvature, 1 + len(Y) / SPREAD**2, rtol=1e-3)
    kept = state.gradient
    assert (kept.moves == 20 * 400).all() and (kept.wait == 0).all()
    assert (kept.visits.sum(1) == 20 * 400).all()  # One row a minibatch, none while warming up.
    latents = np.asarray(kept.values, np.float64)[..., 0]
    first = np.asarray(state.z["theta"], np.float64)[:, 0]
    keeps = 1 - float(state.gradient.step[0]) ** 2 / 2
    noise = np.mean([noise_at(*one, keeps) for one in zip(first, latents, strict=True)])
    assert abs(found.noise / noise - 1) < 4 * (2 / (256 * chains)) ** 0.5, (found.noise, noise)


def walkers_of(y, dimension, count, batch=1):
    """Return a view of the model, and walkers at draws of its prior with such latents."""
    y = jnp.asarray(y, jnp.float32)
    model = partial(wide, dimension=dimension)
    structure = read_structure(model, (y, batch), {})
    view = View(structure, sg.UniformMinibatch(), (y, batch), {})

    def one(key):
        key_position, key_latents = jax.random.split(key)
        position = jax.random.normal(key_position, (dimension,))
        latents = position[0] + SPREAD * jax.random.normal(key_latents, (len(y), 1))
        factor = jnp.full((len(y), 1, 1), (1 + 1 / SPREAD**2) ** -0.5)
        given = latents, factor, jnp.asarray(MOVE)
        return position, first_state(view.potential, position, *given, has_table=False)

    return view, Walkers(*jax.vmap(one)(jax.random.split(jax.random.key(6), count)))


@pytest.mark.long
def test_noise_in_high_dimension():
    """Above 500 dimensions, in the coordinates of a map: 4 standard errors, as above."""
    count, dimension, scale = 4, 501, 3.0
    view, walkers = walkers_of(Y, dimension, count)
    linear = sg.Diagonal(jnp.full(dimension, scale))
    keys = jax.random.split(jax.random.key(7), count)
    measured = jax.jit(lambda *given: noise_at_latents(view, PlainAtLatents(), *given))
    found = measured(linear, walkers, keys)
    latents = np.asarray(walkers.latents.values, np.float64)[..., 0]
    first = np.asarray(walkers.positions, np.float64)[:, 0]
    exact = np.mean([noise_at(*one, KEEPS) for one in zip(first, latents, strict=True)])
    error = (2 / (256 * count)) ** 0.5
    for value in (found.largest, found.correction.largest):
        assert abs(float(value) / (scale**2 * exact) - 1) < 4 * error
    assert float(found.typical) < 1e-6 * exact  # The other coordinates have none.


@pytest.mark.parametrize("rows", [2, 2_500])
def test_curvature_without_a_matrix(rows):
    """By power iteration over blocks of rows, to rounding: the others' curvature is 1."""
    view, walkers = walkers_of(np.zeros(rows), DIMENSION, 2)
    keys = jax.random.split(jax.random.key(8), 2)
    linear = sg.Diagonal(jnp.full(DIMENSION, 2.0))
    found = jax.jit(lambda *given: curvature_at_latents(view, *given))(linear, walkers, keys)
    exact = np.ones(DIMENSION)
    exact[0] += rows / SPREAD**2
    np.testing.assert_allclose(found.largest, 4 * exact.max(), rtol=1e-4)
    np.testing.assert_allclose(found.mean, 4 * exact.mean(), rtol=1e-4)


def test_without_a_step_size_an_error_says_what_to_pass():
    """Where a table of gradients would be large."""
    data = jnp.zeros(2_000)
    mcmc = MCMC(sg.SGHMCSplit(wide), num_warmup=10, num_samples=10, progress_bar=False)
    with pytest.raises(ValueError, match=r"301 shared.*Pass `step_size`.*at most 870 rows"):
        mcmc.run(jax.random.key(0), data, 1_000)
