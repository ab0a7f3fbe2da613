"""UBU's flight against the exact transition, its path's order, and the figures of the docstrings.

Stationary distributions and orders of bias are those of the common tests.
"""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import solve_discrete_lyapunov

from numpyro_sgmcmc import UBU, ExactFriction, RichardsonRomberg, Splitting, SweepMinibatch
from numpyro_sgmcmc.stationary import relative_variance
from numpyro_sgmcmc.types import Plate
from tests.exactness.simulate import around, simulate
from tests.exactness.test_stationary_distribution import BATCHED, FRICTION, LOCATION
from tests.marks import briefly
from tests.oracles import linear
from tests.oracles.linear import Noise
from tests.oracles.monte_carlo import assert_moments
from tests.oracles.recursion import exact_friction, pair_covariance, stationary_covariance
from tests.oracles.slope import order

ONE = np.eye(1)
SILENT = Noise(np.zeros((1, 1)), np.zeros((1, 1, 1)), 0.0)


def flight(friction, h, dtype):
    """The matrices that the step applies to momentum, gradient and increments."""
    dynamics, h = ExactFriction(friction), jnp.asarray(h, dtype)

    def step(momentum, gradient, increment):
        return jnp.concatenate(dynamics.step(momentum, gradient, increment, h))

    zero = jnp.zeros(1, dtype)
    found = jax.jacfwd(step, (0, 1, 2))(zero, zero, jnp.zeros((2, 1), dtype))
    return [np.asarray(x, np.float64).reshape(2, -1) for x in found]


@pytest.mark.parametrize("lost", briefly([1e-3, 0.1, 0.999, 1.001, 3.0, 10.0], [0.1, 1.001]))
def test_noise_and_damping_are_exact(lost):
    """In double precision to what the series leaves, and in single to roundings of 6e-8.

    Both formulas of x - tanh x, x = D h / 2, meet at x = 1/2. Above, cancellation multiplies the
    roundings of x and tanh x by at most x / (x - tanh x) = 13.
    """
    h = 0.3
    exact = exact_friction(h, ONE, lost / h)
    expected = exact.free[:, 1:], exact.kick, exact.heat
    with jax.enable_x64(True):
        for found, right in zip(flight(lost / h, h, jnp.float64), expected, strict=True):
            np.testing.assert_allclose(found, right, rtol=1e-9, atol=1e-14)
    for found, right in zip(flight(lost / h, h, jnp.float32), expected, strict=True):
        np.testing.assert_allclose(found, right, rtol=20 * 6e-8, atol=1e-9)


def test_noise_of_little_friction():
    """D h = 1e-7: the noise of p is sqrt(2 D) W, that of z its integral."""
    h, friction = 0.1, 1e-6
    _, _, heat = flight(friction, h, jnp.float32)
    x, root = friction * h / 2, np.sqrt(2 * friction)
    expected = root * np.array([[h / 2, -h / np.sqrt(12)], [1, x / np.sqrt(3)]])
    np.testing.assert_allclose(heat, expected, rtol=1e-6)


def test_paths_have_strong_order_two():
    """Coarse steps with the noise of 15, 25 and 75 fine ones, on U = z^2 / 2 + cos(2 z) / 4.

    The reference is the finest path, whose error is 1/200 of the smallest of them. A slope over
    finite steps differs from the order by less than 0.15, and order one would be far away.
    """
    friction, time, finest, paths = 1.5, 3.0, 3_375, 400
    slope_of = lambda z: z - 0.5 * np.sin(2 * z)  # noqa: E731
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        free, _, heat = flight(friction, time / finest, jnp.float64)
        through = np.array([[1.0, free[0, 0]], [0.0, free[1, 0]]])
        noises = rng.standard_normal((finest, paths, 2)) * np.sqrt(time / finest) @ heat.T
        start = rng.standard_normal((paths, 2))

        def path(width):
            """Positions in the middle of each step of so many fine ones."""
            h = width * time / finest
            x, seen = start.copy(), []
            for step in range(finest // width):
                for place in range(width):
                    # The fine grid of an odd width has a step across the middle: half of it.
                    if place == width // 2:
                        x = middle(x, step * width + place, h)
                        seen.append(x[:, 0].copy())
                        x[:, 1] -= h * slope_of(x[:, 0])
                        x = rest(x, step * width + place)
                    else:
                        x = x @ through.T + noises[step * width + place]
            return np.array(seen)

        # Half flights whose noises add up to the noise of the whole: a bridge of two normals.
        half_free, _, half_heat = flight(friction, time / finest / 2, jnp.float64)
        half = np.array([[1.0, half_free[0, 0]], [0.0, half_free[1, 0]]])
        one = time / finest / 2 * half_heat @ half_heat.T
        gain = one @ half.T @ np.linalg.inv(half @ one @ half.T + one)
        left = np.linalg.cholesky(one - gain @ half @ one)
        first = noises @ gain.T + rng.standard_normal(noises.shape) @ left.T
        second = noises - first @ half.T
        middle = lambda x, k, h: x @ half.T + first[k]  # noqa: E731
        rest = lambda x, k: x @ half.T + second[k]  # noqa: E731
        reference = path(1)

    def error(h):
        width = round(h * finest / time)
        return np.sqrt(np.mean((path(width) - reference[width // 2 :: width]) ** 2))

    widths = np.array([15, 25, 75])
    assert order(error, widths * time / finest) == pytest.approx(2.0, abs=0.15)


def test_variance_where_it_is_seen_and_at_the_ends_of_the_papers_steps():
    for friction in (0.5, 1.5, 6.0):
        for h in (0.02, 0.04):
            step = exact_friction(h, ONE, friction)
            inside = stationary_covariance(step, ONE, SILENT, h)
            np.testing.assert_allclose(inside[0, 0] - 1, h**2 / 12, rtol=0.02)
            np.testing.assert_allclose(inside[1, 1] - 1, h**2 / 12, rtol=friction * h)
            # Kick, and half a flight on.
            half = exact_friction(h / 2, ONE, friction)
            kicked = np.array([[1.0, 0.0], [-h, 1.0]])
            through = half.free @ kicked
            ends = through @ inside @ through.T + h / 2 * half.heat @ half.heat.T
            np.testing.assert_allclose(ends[0, 0] - 1, -(h**2) / 6, rtol=0.02)


def test_the_position_and_the_momentum_move_with_the_path():
    """Without a force z + p / D is sqrt(2 / D) W."""
    for h in (0.01, 0.7, 4.0):
        free, _, heat = flight(1.5, h, jnp.float32)
        np.testing.assert_allclose(free[0] + free[1] / 1.5, 1 / 1.5, rtol=1e-6)
        np.testing.assert_allclose(heat[0] + heat[1] / 1.5, [np.sqrt(2 / 1.5), 0], atol=1e-6)


ROWS = [(1.5, 0.1), (3, 0.1), (6, 0.1), (6, 0.2)]


@pytest.mark.parametrize(("friction", "h"), ROWS)
def test_the_table_of_the_documentation(friction, h):
    one, zero, plate = np.ones(1), np.zeros(1), Plate(1_000, 100)
    noise = 10 * (1_000 - 100) / (1_000 - 1) * one
    cells = []
    for v, epoch, digits in (
        (zero, None, 2),
        (noise, None, 1),
        (noise, SweepMinibatch().epoch(plate), 1),
    ):
        ratios = [
            relative_variance(part(float(friction)), h, one, v, zero, epoch=epoch)[0]
            for part in (ExactFriction, Splitting)
        ]
        cells.append(", ".join(f"{100 * (ratio - 1):.{digits}f}" for ratio in ratios))
    page = (Path(__file__).parents[2] / "docs" / "kernels.md").read_text()
    assert f"| {friction} | {h} | {' | '.join(cells)} |" in page
    rows = [line.split() for line in (UBU.__doc__ or "").splitlines()]
    assert f"{friction} {h} {' '.join(cells)}".split() in rows


def test_no_kick_keeps_the_momentum_and_diffuses_the_position():
    """Without U the flight is exact at any step: p ~ N(0, 1), and z has a Brownian limit."""
    for h in (0.1, 5.0):
        step = exact_friction(h, ONE, 2.0)
        damp = step.free[1:, 1:]
        added = h * (step.heat @ step.heat.T)[1:, 1:]
        np.testing.assert_allclose(solve_discrete_lyapunov(damp, added), 1.0)


def test_walkers_on_one_path_stay_together():
    """The distance of coarse and fine walker is of order h, and friction does not part them."""
    found = {}
    for friction in (0.5, 6.0):
        apart = []
        for h in (0.05, 0.1):
            joint = pair_covariance(lambda h, D=friction: exact_friction(h, ONE, D), ONE, SILENT, h)
            difference = joint[0, 0] + joint[2, 2] - 2 * joint[0, 2]
            apart.append(difference)
        assert np.log2(apart[1] / apart[0]) == pytest.approx(2, abs=0.1)  # squares
        found[friction] = apart[1]
    assert found[6.0] < 1.1 * found[0.5]


@pytest.mark.long
def test_walkers_of_an_extrapolation_share_both_increments():
    """Nine moments of three walkers at 4 standard errors, 7.5e-5 each; fixed keys."""
    exact, h = linear.posterior(*LOCATION), 0.15
    kernel = RichardsonRomberg(UBU(BATCHED, h, friction=FRICTION))
    start = around(exact.mode, np.linalg.inv(exact.hessian), 400)
    walkers = simulate(
        kernel, LOCATION, chains=400, burn_in=200, draws=300, start=start,
        fields=("z_coarse", "z", "z_halfway"),
    )  # fmt: skip
    joint = pair_covariance(
        lambda h: exact_friction(h, np.eye(2), FRICTION), exact.hessian, exact.noise(5), h
    )
    keep = np.concatenate([np.arange(2) + 4 * walker for walker in range(3)])
    draws = np.concatenate([np.asarray(w) for w in walkers], axis=2)
    assert_moments(draws, np.tile(exact.mode, 3), joint[np.ix_(keep, keep)])
