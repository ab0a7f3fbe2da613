"""What is measured before a run, and what is chosen from it, on models where both are known."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from numpyro_sgmcmc import SGHMC, SGLD, UBU, Dense, Diagonal, Identity, Plain, SGHMCSplit
from numpyro_sgmcmc import UniformMinibatch as Uniform
from numpyro_sgmcmc.model import read_structure
from numpyro_sgmcmc.preparation import Target, curvatures
from numpyro_sgmcmc.preparation.mode_search import describe, find_mode
from numpyro_sgmcmc.preparation.noise import gradient_noise
from numpyro_sgmcmc.preparation.thresholds import TOLERANCE
from tests.marks import briefly
from tests.oracles import linear
from tests.oracles.recursion import DYNAMICS, stationary_covariance


def regression(scales, rows=60, seed=0):
    """Rows that differ, with columns of these scales."""
    rng = np.random.default_rng(seed)
    design = rng.normal(size=(rows, 1, len(scales))) * np.array(scales)
    y = design @ (0.7 / np.array(scales)) + rng.normal(size=(rows, 1))
    return design, y, np.ones(1)


def target_of(data, batch, scheme=None):
    args = (*(jnp.asarray(x, jnp.float32) for x in data), batch)
    return Target(read_structure(linear.model, args, {}), scheme or Uniform(), args, {})


DATA = regression([1.0, 2.0, 0.5])
EXACT = linear.posterior(*DATA)
FACTOR = np.array([[0.2, 0.0, 0.0], [0.1, 0.1, 0.0], [0.0, -0.1, 0.3]])
TARGET = target_of(DATA, 6)


@pytest.mark.parametrize(
    "preconditioner",
    [Identity(), Dense(jnp.asarray(FACTOR, jnp.float32))],
    ids=["identity", "dense"],
)
def test_curvatures(preconditioner):
    s = np.eye(3) if isinstance(preconditioner, Identity) else FACTOR
    whitened = s.T @ EXACT.hessian @ s
    keys = jax.random.split(jax.random.key(0), 200)

    def measure(view, keys):
        position = jnp.ones(3)
        return jax.vmap(lambda key: curvatures(view, preconditioner, position, key))(keys)

    largest, mean = TARGET.run(measure, keys, name="curvatures" + type(preconditioner).__name__)
    # 25 power steps from random signs: below the largest eigenvalue by a ratio to the 50th power.
    np.testing.assert_allclose(np.median(largest), np.linalg.eigvalsh(whitened)[-1], rtol=1e-3)
    # Hutchinson's estimate, over the signs: mean and 4 standard errors (false-failure rate 6e-5).
    error = np.std(mean, ddof=1) / np.sqrt(len(mean))
    assert abs(np.mean(mean) - np.trace(whitened) / 3) < 4 * error + 1e-5


@pytest.mark.parametrize("replace", [True, False])
def test_gradient_noise(replace):
    scheme = Uniform(replace=replace)
    target = target_of(DATA, 6, scheme)
    z = EXACT.mode + np.array([0.3, -0.2, 0.4])
    noise = EXACT.noise(6, replace=replace)
    rows = noise.constant + noise.linear @ (z - EXACT.mode)
    covariance = FACTOR.T @ (noise.weight * rows.T @ rows / len(rows)) @ FACTOR
    eigenvalues = np.linalg.eigvalsh(covariance)

    def measure(view, keys):
        factor, position = Dense(jnp.asarray(FACTOR, jnp.float32)), jnp.asarray(z, jnp.float32)
        one = partial(gradient_noise, view, Plain(), None, position, factor, position[None])
        return jax.lax.map(one, keys)

    found = target.run(measure, jax.random.split(jax.random.key(0), 60))
    # The sample's largest eigenvalue errs upwards, by sum_j l_j / (l_1 - l_j) / 2047 to first
    # order.
    upwards = sum(e / (eigenvalues[-1] - e) for e in eigenvalues[:-1]) / 2047
    ratio = np.asarray(found.largest, np.float64) / eigenvalues[-1]
    error = ratio.std(ddof=1) / np.sqrt(len(ratio))
    assert abs(ratio.mean() - 1 - upwards) < 4 * error + upwards / 2  # false-failure rate 2e-4
    # The whole covariance, entry by entry at 5 standard errors: 6 times 1e-5 or less (t, 59).
    axes, variances = (
        np.asarray(x, np.float64) for x in (found.correction.axes, found.correction.variances)
    )
    whole = np.einsum("rij,rj,rkj->rik", axes, variances, axes)
    spread = whole.std(0, ddof=1) / np.sqrt(len(whole))
    assert np.all(np.abs(whole.mean(0) - covariance) < 5 * spread)


def test_a_badly_scaled_mode_is_found_exactly():
    data = regression([1.0, 100.0, 0.02], rows=400, seed=3)
    exact = linear.posterior(*data)
    mode = find_mode(target_of(data, 20), jax.random.key(0), jnp.array([2.0, 2.0, -2.0]))
    sd = np.sqrt(np.diag(np.linalg.inv(exact.hessian)))
    np.testing.assert_allclose((mode.position - exact.mode) / sd, 0.0, atol=0.02)
    np.testing.assert_allclose(mode.hessian, exact.hessian, rtol=1e-3, atol=1e-2)


def test_describe():
    z = np.array([0.3, 1.0, -0.4])
    mode = describe(TARGET, jnp.asarray(z, jnp.float32))
    np.testing.assert_allclose(mode.gradient, EXACT.hessian @ (z - EXACT.mode), rtol=1e-4)
    np.testing.assert_allclose(mode.hessian, EXACT.hessian, rtol=1e-4, atol=1e-3)


QUICK = [(SGHMCSplit, Plain(), "chosen", False)]
TUNED = [
    (build, gradient, preconditioner, correction)
    for build in (SGLD, SGHMC, SGHMCSplit, UBU)
    for gradient in (None, Plain())
    for preconditioner, correction in (("chosen", None), ("chosen", False), ("given", None))
]
LONG = [
    (SGLD, None, "chosen", None),
    (SGHMCSplit, None, "chosen", None),
    (SGHMCSplit, Plain(), "given", None),
    (UBU, None, "chosen", None),
]


@pytest.mark.parametrize(
    ("build", "gradient", "preconditioner", "correction"),
    briefly(TUNED, QUICK, LONG),
)
@pytest.mark.filterwarnings("ignore:Step size:UserWarning")
def test_a_chosen_step_size_keeps_variances_within_the_tolerance(
    build, gradient, preconditioner, correction
):
    """The exact distribution of the tuned recursion: no variance off by more than the tolerance."""
    names = {SGLD: "langevin", SGHMC: "hamiltonian", SGHMCSplit: "splitting"}
    name = names.get(build, "exact friction")
    given = None if preconditioner == "chosen" else Diagonal(jnp.array([0.2, 0.05, 0.3]))
    kernel = build(
        linear.model,
        gradient=gradient,
        minibatch=Uniform(),
        preconditioner=given,
        noise_correction=correction,
    )
    warmup = 1_000 if gradient is None and correction is None else 0
    tuned = kernel.init(jax.random.key(0), warmup, None, TARGET.args, {}).tuned
    found = kernel.adaptation
    s = np.asarray(jax.vmap(tuned.preconditioner.apply)(jnp.eye(3)).T, np.float64)
    h = float(found.step_size)
    friction = None if found.friction is None else float(found.friction)
    is_plain = isinstance(found.gradient, Plain)
    noise = EXACT.noise(6, anchor=None if is_plain else EXACT.mode)
    recursion = DYNAMICS[name](h, s, friction)
    if tuned.correction is not None:
        dynamics = kernel.options.dynamics.with_friction(found.friction)
        heating = partial(dynamics.heating, step_size=h)
        reduced = jax.vmap(lambda dw: tuned.correction.reduce(dw, heating))(jnp.eye(3)).T
        each = np.eye(dynamics.increments_per_step)
        heat = recursion.heat @ np.kron(each, np.asarray(reduced, np.float64))
        recursion = recursion._replace(heat=heat)
    covariance = stationary_covariance(recursion, EXACT.hessian, noise, h)
    root = np.linalg.cholesky(EXACT.hessian)
    errors = np.linalg.eigvalsh(root.T @ covariance[:3, :3] @ root) - 1
    # The bound is of leading order, and the noise is measured at three points: a fifth of slack.
    assert np.abs(errors).max() < 1.2 * TOLERANCE
    if gradient is not None and correction is False:
        # With plain gradients noise sets the step: half the tolerance at the least, or h is wasted.
        assert errors.max() > TOLERANCE / 5
