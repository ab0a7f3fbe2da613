"""Settings for predictions, where directions of gradient noise differ over the posterior."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import MCMC, init_to_uniform
from sklearn.datasets import load_digits

from numpyro_sgmcmc import (
    Diagonal,
    FixedPoint,
    Microcanonical,
    NoseHoover,
    Plain,
    ReshuffledMinibatch,
    SGHMCSplit,
    Splitting,
    UniformMinibatch,
)
from numpyro_sgmcmc.model import read_structure
from numpyro_sgmcmc.preparation import Target
from numpyro_sgmcmc.preparation.kinks import Typical
from numpyro_sgmcmc.preparation.lanczos import quadrature
from numpyro_sgmcmc.preparation.limits import limits_of
from numpyro_sgmcmc.preparation.options import Options
from numpyro_sgmcmc.preparation.row_energies import effective_parameters, time_of_rows
from numpyro_sgmcmc.preparation.spectrum import (
    Spectrum,
    noise_spectrum,
    predicting,
    predicting_instead,
    widening,
)
from numpyro_sgmcmc.preparation.thresholds import CURVATURE_POINTS, SNAPSHOTS, TOLERANCE, WORTH
from numpyro_sgmcmc.preparation.windows import Seen
from numpyro_sgmcmc.stationary import relative_variance

KEYS = jax.random.split(jax.random.key(3), 8)
SIZE, ROWS, BATCH, Z = 64, 400, 20, 4.0
SLOPES = np.geomspace(0.1, 1.0, SIZE)
PRECISION = 1.0 + ROWS * SLOPES**2
MAP = np.full(SIZE, 0.2)


def model(y):
    """Independent coordinates of different curvature, all seen by every row."""
    theta = numpyro.sample("theta", dist.Normal(0.0, 1.0).expand([SIZE]).to_event(1))
    with numpyro.plate("rows", ROWS, subsample_size=BATCH) as rows:
        mean = jnp.asarray(SLOPES, jnp.float32) * theta
        numpyro.sample("y", dist.Normal(mean, 1.0).to_event(1), obs=y[rows])


@cache
def problem():
    """Return the target, exact draws, curvatures c_k and noise V_k in the map's coordinates."""
    y = np.random.default_rng(0).normal(size=(ROWS, SIZE))
    target = Target(
        read_structure(model, (jnp.asarray(y, jnp.float32),), {}),
        UniformMinibatch(),
        (jnp.asarray(y, jnp.float32),),
        {},
    )
    draws = np.asarray(jax.random.normal(KEYS[0], (128, SIZE)), np.float64) / np.sqrt(PRECISION)
    points = jnp.asarray(ROWS * SLOPES * y.mean(0) / PRECISION + draws, jnp.float32)
    noise = MAP**2 * ROWS**2 / BATCH * SLOPES**2 * y.var(0)
    return target, points, MAP**2 * PRECISION, noise, y


def spectrum():
    target, points, *_ = problem()
    linear = Diagonal(jnp.asarray(MAP, jnp.float32))
    return noise_spectrum(target, KEYS[1], Plain(), linear, None, points)


def test_a_quadrature_is_exact_for_polynomials():
    rng = np.random.default_rng(1)
    axes = np.linalg.qr(rng.normal(size=(30, 30)))[0]
    values = np.linspace(-1.0, 2.0, 30)
    whole = jnp.asarray(axes * values @ axes.T, jnp.float32)
    start = rng.normal(size=30)
    nodes, weights = (
        np.asarray(x, np.float64)
        for x in jax.jit(lambda v: quadrature(lambda u: whole @ u, v, 6))(
            jnp.asarray(start, jnp.float32)
        )
    )
    for power in range(12):
        exact = (axes.T @ start) ** 2 @ values**power
        # Rounding in single precision.
        np.testing.assert_allclose(weights @ nodes**power, exact, rtol=1e-4)


@pytest.mark.parametrize("scheme", [None, ReshuffledMinibatch()], ids=["independent", "epochs"])
def test_widening_is_the_sum_over_directions_of_the_exact_recursion(scheme):
    """Within 4 standard errors, which fails by chance at a rate of 6e-5.

    A pair of gradients at each of 4 positions gives one squared deviation each. For normal noise
    the sum of heat(c_k) e_k^2 has the variance 2 sum (heat(c_k) V_k)^2.
    """
    target, _, curvature, noise, _ = problem()
    (plate,) = target.structure.plates.values()
    epoch = None if scheme is None else scheme.epoch(plate)
    dynamics, h = Splitting(friction=1.5), 0.05
    nothing = np.zeros(SIZE)
    inputs = dynamics, h, curvature
    silent = relative_variance(*inputs, nothing, nothing)
    excess = relative_variance(*inputs, noise, nothing, epoch=epoch) - silent
    error = np.sqrt(2 * np.sum(excess**2) / CURVATURE_POINTS)
    found = widening(spectrum(), dynamics, h, epoch)
    assert 0.02 < error / excess.sum() < 0.2  # a test of a few tens of per cent
    assert abs(found - excess.sum()) < Z * error


@pytest.mark.parametrize("kind", [NoseHoover, Microcanonical])
def test_widening_is_that_of_the_linear_dynamics(kind):
    """Their own steps from rest would be without friction, and gain energy without end."""
    dynamics = kind(1.5)
    found = widening(spectrum(), dynamics, 0.05, None)
    assert found == widening(spectrum(), dynamics.linearised(), 0.05, None)
    # h V / (2 D) to leading order, as for splitting; the next order is h D.
    assert found == pytest.approx(widening(spectrum(), Splitting(1.5), 0.05, None), rel=0.05 * 1.5)


def test_effective_parameters_are_those_of_the_posterior():
    """p = sum_i sum_k (y_ik - mean y_k)^2 a_k^2 v_k, with 4 standard errors (6e-5)."""
    target, points, *_, y = problem()
    found = float(target.run(effective_parameters, points, KEYS[2]))
    parts = ROWS * y.var(0) * SLOPES**2 / PRECISION
    weights = (y - y.mean(0)) * SLOPES / np.sqrt(PRECISION)
    error = np.sqrt(2 / (len(points) - 1)) * np.linalg.norm(weights.T @ weights)
    assert abs(found - parts.sum()) < Z * error
    assert error < 0.05 * parts.sum()


@pytest.mark.parametrize("temperature", [1.0, 4.0])
@pytest.mark.parametrize("asked", [None, "diagonal"], ids=["open", "a correction"])
def test_predictions_are_within_the_tolerance(asked, temperature):
    """The variance of fitted values is at most half of the tolerance too large, by the recursion.

    Gradient noise adds the same at each temperature T, to variances that are T times as large.
    The step size is not much smaller than this allows either: half of the tolerance is used up.
    The measured noise has the standard error of `test_widening...`, so that 4 of them are allowed.
    Where the user asks for a correction, epochs are not used, and the bound ignores it.
    """
    target, _, curvature, noise, _ = problem()
    (plate,) = target.structure.plates.values()
    found = chosen(asked, temperature)
    assert found is not None
    epoch = None if found.scheme is None else found.scheme.epoch(plate)
    assert (epoch is None) == (asked is not None)
    nothing = np.zeros(SIZE)
    inputs = limits().dynamics, float(found.chosen.step_size), curvature
    excess = relative_variance(*inputs, noise, nothing, epoch=epoch)
    excess = excess - relative_variance(*inputs, nothing, nothing)
    error = np.sqrt(2 * np.sum(excess**2) / CURVATURE_POINTS)
    of_rows = SLOPES**2 / PRECISION
    parameters = temperature * spectrum().parameters
    assert (excess.sum() - Z * error) / parameters <= TOLERANCE / 2
    assert of_rows @ excess / of_rows.sum() / temperature <= (excess.sum() + Z * error) / parameters
    # The next step size that is tried is 2^(1/4) times as large, and heat grows less than h^4.
    assert TOLERANCE / 4 < float(found.chosen.share) <= TOLERANCE / 2


def limits(temperature=1.0):
    _, _, curvature, noise, _ = problem()
    typical = Typical(*(jnp.float32(x) for x in (curvature.max(), curvature.mean(), 0.0)))
    return limits_of(Splitting(), typical, jnp.float32(noise.max()), SIZE, temperature)


def asked_for(asked, temperature, other=None):
    """Return the arguments of `predicting`."""
    target, points, curvature, *_ = problem()
    target = other or target
    points = points.mean(0) + jnp.sqrt(temperature) * (points - points.mean(0))
    options = Options(
        dynamics=Splitting(),
        step_size=None,
        has_constant_step_size=True,
        gradient=None,
        temperature=temperature,
        minibatch=UniformMinibatch(),
        preconditioner=None,
        noise_correction=asked,
        num_steps=None,
        max_num_steps=1_024,
        init_strategy=init_to_uniform,
        has_open_minibatch=True,
    )
    linear = Diagonal(jnp.asarray(MAP, jnp.float32))
    given = (Plain(),), linear, None, points, limits(temperature), 1.0, curvature.min()
    return target, KEYS[1], options, given


def chosen(asked, temperature, other=None):
    *inputs, given = asked_for(asked, temperature, other)
    return predicting(*inputs, *given)


@pytest.mark.parametrize(("wanted", "gain"), [(5_000, 2), (1_024, 2), (512, 8), (64, 512)])
def test_parameters_are_given_up_for_a_gain_that_grows_as_they_get_cheaper(wanted, gain):
    """`wanted` are the transitions of a draw that suits every parameter, of at most 1,024."""
    *inputs, given = asked_for(None, 1.0)
    found = predicting(*inputs, *given)
    steps = jnp.asarray(wanted / (2 * np.arctanh(WORTH)))
    every = found.chosen._replace(relaxation_steps=steps)
    for factor, is_taken in ((1.01, True), (0.99, False)):
        cost = factor * gain * found.cost
        assert (predicting_instead(*inputs, every, cost, given) is not None) == is_taken


def test_predictions_are_not_measured_where_they_cannot_gain_enough(monkeypatch):
    """Even without noise they would take more than half of the steps."""
    *inputs, given = asked_for(None, 1.0)
    every = predicting(*inputs, *given).chosen._replace(relaxation_steps=jnp.asarray(1e5))
    fewest = float(limits().dynamics.relaxation_steps(given[-1], limits().smooth))
    where = "numpyro_sgmcmc.preparation.spectrum.predicting"
    monkeypatch.setattr(where, lambda *_: pytest.fail("was measured"))
    assert predicting_instead(*inputs, every, 1.99 * fewest, given) is None


@pytest.mark.parametrize(
    "unknown",
    [
        {"parameters": float("nan")},
        {"parameters": 0.0},
        {"curvatures": np.zeros(2)},
        {"noise": np.array([1.0, np.inf])},
    ],
    ids=["p is NaN", "rows say nothing", "no curvature", "infinite noise"],
)
def test_what_cannot_be_measured_is_not_known(unknown):
    known = Spectrum(np.array([0.1, 1.0]), np.ones(2), 3.0)
    assert known.is_known and not known._replace(**unknown).is_known


def test_rows_without_parameters_have_no_settings_for_predictions():
    """All rows are equal, so that nothing tells noise from none."""
    y = jnp.ones((ROWS, SIZE), jnp.float32)
    equal = Target(read_structure(model, (y,), {}), UniformMinibatch(), (y,), {})
    assert chosen(None, 1.0, equal) is None


@pytest.mark.parametrize("kept", [0.0, 0.5, 0.9])
def test_the_time_of_rows_is_that_of_their_autocorrelation(kept):
    """Rows are linear in the position here, so that all have the autocorrelation `kept`.

    5 standard errors of a row are allowed, which fail by chance at a rate of 6e-7, and 1.3 more
    for the spread of rows, of which chance leaves a part.
    """
    target, *_ = problem()
    count, walkers = SNAPSHOTS, 400
    shocks = np.asarray(jax.random.normal(KEYS[3], (count, walkers, SIZE)))
    path = [shocks[0]]
    for shock in shocks[1:]:
        path.append(kept * path[-1] + np.sqrt(1 - kept**2) * shock)
    seen = Seen(*[None] * 2, jnp.asarray(np.array(path)), *[None] * 2, 10 * count)
    found = time_of_rows(target, KEYS[4], seen)
    error = np.sqrt((1 - kept**2) / (count - 1) / walkers)
    assert found is not None and found.is_known == (kept > 0)
    if kept:
        assert abs(np.exp(-2 * 10 / found.time) - kept) < 6.3 * error
    else:
        assert found.time == pytest.approx(2 * 10 / np.log(10))


def network(x, y):
    def normal(name, *shape):
        return numpyro.sample(name, dist.Normal(0, 1).expand(shape).to_event(len(shape)))

    inner, outer = normal("inner", 64, 9), normal("outer", 9, 10)
    with numpyro.plate("rows", len(x), subsample_size=32) as rows:
        logits = jnp.tanh(x[rows] @ inner) @ outer
        numpyro.sample("y", dist.CategoricalLogits(logits), obs=y[rows])


@pytest.mark.slow
def test_a_network_is_sampled_for_its_predictions():
    pixels, label = load_digits(return_X_y=True)
    x, y = jnp.asarray(pixels[:512] / 16, jnp.float32), jnp.asarray(label[:512])
    kernel = SGHMCSplit(network, max_num_steps=256)
    options = {"num_chains": 4, "chain_method": "vectorized", "progress_bar": False}
    mcmc = MCMC(kernel, num_warmup=0, num_samples=2, **options)
    mcmc.run(jax.random.key(0), x, y)
    found = kernel.adaptation
    assert found is not None and found.is_for_predictions
    assert found.scheme is not None and float(found.share) <= TOLERANCE / 2
    # Noise in one direction of unknown curvature would allow this step size.
    alone = TOLERANCE * float(found.friction) / float(found.noise)
    assert float(found.step_size) > 4 * alone
    assert "a prediction takes about" in str(found)
    assert isinstance(found.gradient, Plain | FixedPoint)
