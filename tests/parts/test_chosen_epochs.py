"""Minibatches by epochs, where the warm-up chooses them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.infer import MCMC

from numpyro_sgmcmc import (
    SGHMC,
    SGLD,
    SGNHT,
    Diagnosis,
    Plain,
    ReshuffledMinibatch,
    RichardsonRomberg,
    SGHMCSplit,
    StaleGradient,
    UniformMinibatch,
    diagnose,
    to_inference_data,
)
from numpyro_sgmcmc.correction import DiagonalCorrection
from numpyro_sgmcmc.dynamics import Splitting
from numpyro_sgmcmc.preparation.epochs import fastest, in_epochs
from numpyro_sgmcmc.preparation.limits import Chosen, Limits, choose
from numpyro_sgmcmc.preparation.noise import Noise
from numpyro_sgmcmc.preparation.thresholds import LEAST_GAIN, TOLERANCE
from numpyro_sgmcmc.types import Plate
from tests.marks import briefly, rarely
from tests.oracles import linear

ROWS, BATCH, CHAINS = 60, 6, 400


def regression():
    rng = np.random.default_rng(0)
    design = rng.normal(size=(ROWS, 1, 3)) * np.array([1.0, 2.0, 0.5])
    return design, design @ np.array([0.7, 0.35, 1.4]) + rng.normal(size=(ROWS, 1)), np.ones(1)


DATA = regression()
EXACT = linear.posterior(*DATA)
ARGUMENTS = (*(jnp.asarray(x, jnp.float32) for x in DATA), BATCH)
NOISY = {"gradient": Plain(), "noise_correction": False}

INDEPENDENT = {
    "given": lambda: SGHMCSplit(linear.model, minibatch=UniformMinibatch(), **NOISY),
    "corrected": lambda: SGHMCSplit(linear.model, gradient=Plain(), noise_correction="dense"),
    "extrapolated": lambda: RichardsonRomberg(SGHMCSplit(linear.model, **NOISY)),
    "stale": lambda: StaleGradient(SGHMCSplit(linear.model, **NOISY), 1),
    "thermostat": lambda: SGNHT(linear.model, gradient=Plain()),
    "quiet": lambda: SGHMCSplit(linear.model),  # the fixed point's noise is small
}


def started(kernel):
    return kernel.init(jax.random.key(0), 0, None, ARGUMENTS, {})


@pytest.mark.filterwarnings("ignore:Step size:UserWarning")
@pytest.mark.long
@pytest.mark.parametrize("build", rarely([SGHMCSplit, SGHMC, SGLD], [SGHMCSplit]))
def test_epochs_relax_faster_and_keep_to_the_tolerance(build):
    """Exact second moments in all directions, to the tolerance and 4.5 standard errors.

    False-failure rate 2e-5 for three moments. Independent minibatches would be far off at this step
    size, so the test shows that epochs run.
    """
    kernel, independent = (
        build(linear.model, **NOISY),
        build(linear.model, minibatch=UniformMinibatch(), **NOISY),
    )
    for one in (kernel, independent):
        started(one)
    found, other = kernel.adaptation, independent.adaptation
    assert isinstance(found.scheme, ReshuffledMinibatch) and other.scheme is None
    assert found.relaxation_steps * LEAST_GAIN <= other.relaxation_steps
    dynamics = kernel.options.dynamics.with_friction(found.friction)
    assert dynamics.heating(found.noise, found.step_size) > 2 * TOLERANCE
    mcmc = MCMC(
        kernel,
        num_warmup=0,
        num_samples=60,
        num_chains=CHAINS,
        chain_method="vectorized",
        progress_bar=False,
    )
    mcmc.run(jax.random.key(1), *ARGUMENTS)
    (draws,) = mcmc.get_samples(group_by_chain=True).values()
    root = np.linalg.cholesky(EXACT.hessian)
    y = (np.asarray(draws, np.float64)[:, 30:] - EXACT.mode) @ root
    squares = np.mean(y**2, axis=1)
    error = squares.std(0, ddof=1) / np.sqrt(CHAINS)
    assert np.all(np.abs(squares.mean(0) - 1) < TOLERANCE + 4.5 * error)


@pytest.mark.filterwarnings("ignore:Step size:UserWarning")
@pytest.mark.filterwarnings("ignore:Gradients that are:UserWarning")
@pytest.mark.parametrize("name", briefly(INDEPENDENT, ["given"], ["corrected", "stale", "quiet"]))
def test_minibatches_stay_independent(name):
    kernel = INDEPENDENT[name]()
    assert started(kernel).tuned.scheme is None
    assert kernel.adaptation.scheme is None


@pytest.mark.parametrize("variance", [0.0, np.inf, np.nan])
def test_noise_without_a_number_ends_the_search(variance):
    """The relaxation time of independent minibatches is infinite where their step size is 0."""
    one = jnp.ones(())
    noise = Noise(variance * one, DiagonalCorrection(jnp.ones(3)), one, one)
    limits = Limits(Splitting(1.5), one, 0.3 * one, one)
    independent = Chosen(0 * one, one, jnp.inf * one, one, one)
    ends = one, 2 * one
    found = in_epochs(Plate(60, 6), limits, noise, independent, 1.0, 0.01, 1.0, ends, False)
    assert (found is None) == (variance != 0)


@pytest.mark.filterwarnings("ignore:Step size:UserWarning")
def test_no_settings_of_a_smaller_share_are_faster_than_the_fastest():
    """With random limits and noise; epochs are the fastest for some of them, and not for others."""
    kernel = SGHMCSplit(linear.model, **NOISY)
    started(kernel)
    options, structure = kernel.options, kernel.memory.target.structure
    (plate,) = structure.plates.values()
    rng = np.random.default_rng(3)
    kinds = set()
    for _ in range(12):
        largest, typical, residual, slowest, smooth = jnp.exp(jnp.asarray(rng.normal(size=5)))
        noise = Noise(100 * largest, DiagonalCorrection(jnp.ones(3)), residual, typical)
        heat = Splitting(1.5).heating(noise.largest, 1.0)
        limits = Limits(Splitting(1.5), heat, 0.1 * smooth, 0.1 * smooth * heat)
        bounds = 1.0, 0.01, 0.5, (0.1 * slowest, 5 * slowest), bool(rng.integers(2))
        best = fastest(options, Plain(), structure, limits, noise, 0.6, *bounds)
        for share in (0.05, 0.3, 0.6):
            alone = choose(limits, noise, share, bounds[2], bounds[3][0], bounds[4])
            epochs = in_epochs(plate, limits, noise, alone, *bounds)
            found = alone if epochs is None else epochs.chosen
            kinds.add(epochs is None)
            assert float(best.relaxation_steps) <= float(found.relaxation_steps)
    assert kinds == {True, False}


@pytest.mark.filterwarnings("ignore:Step size:UserWarning")
def test_a_kernel_and_its_extrapolation_do_not_share_the_choice():
    kernel = SGHMCSplit(linear.model, **NOISY)
    assert started(kernel).tuned.scheme is not None
    assert started(RichardsonRomberg(kernel)).tuned.scheme is None
    assert started(kernel).tuned.scheme is not None


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:Step size:UserWarning")
def test_the_verdict_and_the_attributes_know_the_epochs():
    kernel = SGHMCSplit(linear.model, **NOISY)
    mcmc = MCMC(
        kernel,
        num_warmup=0,
        num_samples=1_500,
        num_chains=4,
        chain_method="vectorized",
        progress_bar=False,
    )
    mcmc.run(jax.random.key(2), *ARGUMENTS)
    found = diagnose(mcmc)
    assert isinstance(found, Diagnosis) and found.calibrated, found.sentence
    data = to_inference_data(mcmc, verdict=False)
    assert data.attrs["minibatch"] == "ReshuffledMinibatch()"
    assert ", rows in epochs, step size" in str(kernel.adaptation)
