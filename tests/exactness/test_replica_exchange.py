"""Replicas: weights of two modes, swaps that keep every distribution, and the noise of energies.

Chains are independent, so that standard errors are those of averages of chains. Comparisons are at
4 of them: false failures are 7.5e-5 each with 256 chains or more; keys are fixed.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

from numpyro_sgmcmc import SGLD, ReplicaExchange, SGHMCSplit, UniformMinibatch, cyclical
from numpyro_sgmcmc.kernels.swap_energies import minibatch_ratio, whole_data_ratio
from numpyro_sgmcmc.kernels.swapping import LogRatio, accepted, swapped
from numpyro_sgmcmc.model import read_structure
from numpyro_sgmcmc.preparation import View
from numpyro_sgmcmc.state import no_swaps
from tests.exactness.simulate import simulate
from tests.exactness.test_noise_correction import corrected as corrected_recursion
from tests.exactness.test_stationary_distribution import BATCH as FEW
from tests.exactness.test_stationary_distribution import BATCHED, FRICTION, LOCATION
from tests.marks import briefly, rarely
from tests.oracles import linear
from tests.oracles.monte_carlo import Z, assert_averages
from tests.oracles.recursion import DYNAMICS, stationary_covariance

ROWS, BATCH, SCALE = 60, 10, 60.0
SHARES = np.array([0.3, 0.7])
CENTRES, WIDTH = np.array([-4.0, 4.0]), 0.7
LADDER = (1.0, 2.5, 6.0, 15.0)
CHAINS = 256
START = np.where(np.arange(CHAINS) % 2 == 0, *CENTRES)
"""Half of the chains start in either mode."""


def two_modes(y, weights):
    """Two normal modes 11 standard deviations apart, and rows that say little of theta."""
    modes = dist.MixtureSameFamily(dist.Categorical(weights), dist.Normal(CENTRES, WIDTH))
    theta = numpyro.sample("theta", modes)
    with numpyro.plate("rows", y.shape[0], subsample_size=BATCH) as rows:
        numpyro.sample("y", dist.Normal(theta, SCALE), obs=y[rows])


def conjugate():
    """Rows, and the weights of the prior with which those of the posterior are exactly 3 : 7.

    A mode of the posterior has the prior's weight times the density of the rows' mean under
    N(centre, WIDTH^2 + SCALE^2 / N), up to a common factor.
    """
    y = SCALE * np.random.default_rng(0).normal(size=ROWS)
    variance = WIDTH**2 + SCALE**2 / ROWS
    weights = SHARES * np.exp((y.mean() - CENTRES) ** 2 / (2 * variance))
    return jnp.asarray(y, jnp.float32), jnp.asarray(weights / weights.sum(), jnp.float32)


def in_second_mode(kernel, *, burn_in, draws):
    """Return which draws are in the mode of weight 0.7, (chains, draws)."""
    sizes = {"chains": CHAINS, "burn_in": burn_in, "draws": draws, "start": START}
    (found,) = simulate(kernel, conjugate(), **sizes)
    return np.asarray(found).reshape(CHAINS, draws) > 0


KERNELS = {
    "SGLD": lambda step_size: SGLD(two_modes, step_size(0.05), num_steps=5),
    "SGHMCSplit": lambda step_size: SGHMCSplit(
        two_modes, step_size(0.15), friction=2.0, num_steps=5
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("name", rarely(["SGLD", "SGHMCSplit"], ["SGHMCSplit"]))
def test_weights_of_modes_between_which_a_chain_is_stuck(name):
    """Gradient noise is V = 0.1 here, so that it moves the weight 0.7 by 1e-3 at most."""
    kernel = KERNELS[name](lambda h: h)
    exchanged = in_second_mode(ReplicaExchange(kernel, LADDER), burn_in=120, draws=240)
    assert_averages(exchanged.mean(1, keepdims=True), SHARES[1:])
    stuck = in_second_mode(kernel, burn_in=0, draws=240)
    assert (stuck == (START > 0)[:, None]).all()


@pytest.mark.long
def test_cyclical_steps_do_not_weigh_modes():
    """They cross only near the bound of stability, 0.97, and then as discretisation has it."""
    small = SGLD(two_modes, cyclical(0.4, 500), num_steps=5)
    assert (in_second_mode(small, burn_in=0, draws=400) == (START > 0)[:, None]).all()
    large = SGLD(two_modes, cyclical(0.9, 500), num_steps=5)
    share = in_second_mode(large, burn_in=200, draws=600).mean(1)
    assert SHARES[1] - share.mean() > 6 * share.std() / np.sqrt(CHAINS)


def gaussian_view(rows, batch):
    """Return U of a normal posterior of one parameter, its mode and its curvature."""
    y = 0.3 + np.random.default_rng(1).normal(size=(rows, 1))
    data = np.ones((rows, 1, 1)), y, np.ones(1)
    exact = linear.posterior(*data)
    args = (*(jnp.asarray(x, jnp.float32) for x in data), batch)
    view = View(read_structure(linear.model, args, {}), UniformMinibatch(), args, {})
    return view, float(exact.mode[0]), float(exact.hessian[0, 0])


TEMPERATURES = np.array([1.0, 2.0, 4.0])
RATES = jnp.asarray(1 / TEMPERATURES[:-1] - 1 / TEMPERATURES[1:], jnp.float32)


def after_two_rounds(ratio_of, view, mode, curvature, chains):
    """Return squares of positions in units of T / curvature, after a round of each set of pairs."""
    key_start, key = jax.random.split(jax.random.key(0))
    scale = jnp.asarray(np.sqrt(TEMPERATURES / curvature), jnp.float32)
    start = mode + scale * jax.random.normal(key_start, (chains, 3))

    def one(key, z):
        swaps = no_swaps(3, jnp.float32)
        for k in jax.random.split(key, 2):
            key_rows, key_test = jax.random.split(k)
            ratio = ratio_of(view, key_rows, z[:, None])
            z, swaps = swapped(key_test, ratio, swaps, z)
        return ((z - mode) / scale) ** 2, swaps

    return jax.jit(jax.vmap(one))(jax.random.split(key, chains), start)


def corrected(view, key, positions):
    return minibatch_ratio(view, key, positions, RATES, 32)


def naive(view, key, positions):
    return LogRatio(corrected(view, key, positions).value)


def exact_energies(view, key, positions):
    return whole_data_ratio(view, positions, RATES)


@pytest.mark.parametrize("ratio_of", briefly([corrected, exact_energies], [exact_energies]))
def test_swaps_keep_the_distribution_at_every_temperature(ratio_of):
    """32 minibatches of 6 of 192 rows: the mean variance of the noise is near 1."""
    view, mode, curvature = gaussian_view(192, 6)
    squares, swaps = after_two_rounds(ratio_of, view, mode, curvature, 20_000)
    assert_averages(np.asarray(squares, np.float64), np.ones(3))
    rates = np.asarray(swaps.accepted).mean(0) / np.asarray(swaps.proposed).mean(0)
    assert (rates > 0.3).all() and (rates < 0.9).all()
    noise = np.asarray(swaps.noise).mean(0)
    assert (noise > 0.3).all() if ratio_of is corrected else (noise == 0).all()


def test_noise_that_is_not_corrected_changes_the_distribution():
    """The same swaps without the penalty make the coldest replica too wide."""
    view, mode, curvature = gaussian_view(192, 6)
    squares, _ = after_two_rounds(naive, view, mode, curvature, 20_000)
    squares = np.asarray(squares, np.float64)[:, 0]
    assert squares.mean() - 1 > 6 * squares.std() / np.sqrt(len(squares))


def test_the_penalty_is_exact_for_normal_errors():
    """a(x) = e^x a(-x), for a known variance and for one estimated from 32 numbers."""
    count, s, x = 400_000, 1.0, 0.7
    keys = jax.random.split(jax.random.key(2), 4)
    noise = s * jax.random.normal(keys[0], (count,))
    squares = jax.random.gamma(keys[1], 31 / 2, (count,)) * 2 / 31 * s**2
    for variance, freedom in ((jnp.full(count, s**2), 10**9), (squares, 31)):
        hits = [
            np.asarray(accepted(key, LogRatio(shift + noise, variance, freedom)), np.float64)
            for key, shift in zip(keys[2:], (x, -x), strict=True)
        ]
        factors = np.stack([hits[0], np.exp(x) * hits[1]], 1)
        difference = (factors[:, 0] - factors[:, 1])[:, None]
        # An estimated variance leaves a factor of 1.0002, a twentieth of a standard error.
        assert_averages(difference, np.zeros(1))


def test_log_ratio_is_that_of_the_whole_data():
    view, mode, curvature = gaussian_view(50, 7)
    positions = jnp.asarray(mode + np.array([[0.3], [-0.2], [0.5]]), jnp.float32)
    found = whole_data_ratio(view, positions, RATES)
    energies = curvature / 2 * (np.asarray(positions)[:, 0].astype(float) - mode) ** 2
    expected = np.asarray(RATES, float) * -np.diff(energies)
    assert found.variance is None
    np.testing.assert_allclose(found.value, expected, rtol=2e-3)


def replicas_of(kernel, start, burn_in, draws, chains=400, seed=0):
    """Return positions of all replicas, (chains, draws, K, 2)."""
    keys = jax.random.split(jax.random.key(seed), chains)
    state = kernel.init(keys, 0, {"theta": start}, LOCATION, {})

    @jax.jit
    def run(state, args):
        def collect(state, _):
            state = kernel.sample(state, args, {})
            both = state.z["theta"][:, None], state.hot_positions
            return state, jnp.concatenate(both, 1)

        return jax.lax.scan(collect, state, None, length=burn_in + draws)[1]

    return np.asarray(jnp.swapaxes(run(state, LOCATION)[burn_in:], 0, 1), np.float64)


PLAIN = {
    "langevin": (SGLD, 0.012, {}),
    "splitting": (partial(SGHMCSplit, friction=FRICTION), 0.09, {}),
    "langevin, corrected": (SGLD, 0.0018, {"noise_correction": "dense"}),
}


@pytest.mark.parametrize("name", briefly(PLAIN, []))
def test_each_replica_has_the_distribution_of_its_temperature(name):
    """Without swaps each is the kernel at its temperature, gradient noise included."""
    exact = linear.posterior(*LOCATION)
    build, h, options = PLAIN[name]
    inside = build(BATCHED, h, num_steps=3, **options)
    kernel = ReplicaExchange(inside, [1.0, 2.0, 4.0], swap_every=10**9)
    start = jnp.broadcast_to(jnp.asarray(exact.mode, jnp.float32), (400, 2))
    found = replicas_of(kernel, start, 80, 60) - exact.mode
    correction = kernel.memory.latest.tuned.correction
    for k, temperature in enumerate([1.0, 2.0, 4.0]):
        recursion = DYNAMICS[name.partition(",")[0]](h, np.eye(2), FRICTION)
        if correction is not None:
            cooled = correction.at_temperature(temperature)
            recursion = corrected_recursion(recursion, cooled, inside.options.dynamics, h)
        noise = exact.noise(FEW)
        expected = stationary_covariance(recursion, exact.hessian, noise, h, temperature)
        second = (found[:, :, k] ** 2).mean(1)
        assert_averages(second, np.diag(expected)[:2])


BIASED = {
    "langevin": (SGLD, 0.002),
    "splitting": (partial(SGHMCSplit, friction=FRICTION), 0.15),
}


@pytest.mark.parametrize("name", briefly(BIASED, ["langevin"]))
def test_swaps_add_no_bias_of_their_own(name):
    """The coldest variance lies between the exact one and the kernel's own at this step size.

    Swaps by exact energies keep exp(-U / T); the kernel keeps its biased distribution. Without
    gradient noise the bias is 5 and 1 % of the two variances for SGLD.
    """
    exact = linear.posterior(*LOCATION)
    build, h = BIASED[name]
    kernel = ReplicaExchange(build(linear.model, h), [1.0, 2.0, 4.0], swap_every=1)
    start = jnp.broadcast_to(jnp.asarray(exact.mode, jnp.float32), (400, 2))
    found = (replicas_of(kernel, start, 200, 200) - exact.mode)[:, :, 0]
    second = (found**2).mean(1)
    error = second.std(0, ddof=1) / np.sqrt(len(second))
    recursion = DYNAMICS[name](h, np.eye(2), FRICTION)
    own = stationary_covariance(recursion, exact.hessian, exact.noise(None), h)
    own = np.diag(own)[:2]
    ideal = np.diag(np.linalg.inv(exact.hessian))
    low, high = np.minimum(own, ideal), np.maximum(own, ideal)
    assert (second.mean(0) > low - Z * error).all() and (second.mean(0) < high + Z * error).all()
