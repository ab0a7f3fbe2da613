"""Richardson-Romberg's coefficients: the powers of h that they cancel, and that files keep them."""

import arviz as az
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import MCMC

from numpyro_sgmcmc import (
    SGHMC,
    SGNHT,
    ExactFriction,
    Hamiltonian,
    Langevin,
    RichardsonRomberg,
    SGHMCSplit,
    Splitting,
    expectation,
    to_inference_data,
)
from numpyro_sgmcmc.kernels import walker_coefficients
from numpyro_sgmcmc.results.estimate import coefficients
from tests.oracles.linear import Noise
from tests.oracles.recursion import DYNAMICS, stationary_covariance

PARTS = {
    "langevin": Langevin(),
    "hamiltonian": Hamiltonian(1.3),
    "splitting": Splitting(1.3),
    "exact friction": ExactFriction(1.3),
}
EXPECTED = {  # order of what is left by one, two and three walkers with exact gradients
    "langevin": (1, 2, 3),
    "hamiltonian": (2, 3, 4),
    "splitting": (2, 4, 6),
    "exact friction": (2, 4, 6),
}


def variance(name, h, noise):
    """The exact stationary variance on U = z^2 / 2, gradient noise of this variance."""
    known = Noise(np.array([[1.0], [-1.0]]) * np.sqrt(noise), np.zeros((2, 1, 1)), 1.0)
    recursion = DYNAMICS[name](h, np.eye(1), 1.3)
    return stationary_covariance(recursion, np.eye(1), known, h)[0, 0]


def remaining_order(name, weights, noise, steps):
    finest_first = 2.0 ** np.arange(len(weights))[::-1]
    errors = [
        abs(
            sum(
                w * variance(name, h / n, noise) for w, n in zip(weights, finest_first, strict=True)
            )
            - 1
        )
        for h in steps
    ]
    return np.polyfit(np.log(steps), np.log(errors), 1)[0]


@pytest.mark.parametrize("name", PARTS)
def test_with_exact_gradients_they_follow_the_dynamics(name):
    powers = PARTS[name].bias_powers
    assert PARTS[name].order == powers[0]
    for levels, order in zip((1, 2, 3), EXPECTED[name], strict=True):
        weights = walker_coefficients(levels, powers)
        assert sum(weights) == pytest.approx(1)
        # Errors are exact, to rounding; the slope over a finite range of h is the order + O(h).
        steps = np.array([0.04, 0.05, 0.06]) * max(1, order - 2)
        assert remaining_order(name, weights, 0.0, steps) == pytest.approx(order, abs=0.3)


@pytest.mark.parametrize("name", PARTS)
def test_with_gradient_noise_every_first_power_is_cancelled(name):
    steps = np.array([0.004, 0.005, 0.006])
    for levels in (1, 2, 3):
        weights = walker_coefficients(levels, (1, 2))
        found = remaining_order(name, weights, 10.0, steps)
        assert found > levels - 0.3
        assert levels == 3 or found == pytest.approx(levels, abs=0.3)
    # The dynamics' own coefficients would leave the noise's first-order term.
    own = remaining_order(name, walker_coefficients(2, PARTS[name].bias_powers), 10.0, steps)
    assert name == "langevin" or own == pytest.approx(1, abs=0.3)


def normal():
    numpyro.sample("z", dist.Normal(0.0, 1.0))


def subsampled(x):
    z = numpyro.sample("z", dist.Normal(0.0, 1.0))
    with numpyro.plate("rows", x.size, subsample_size=2) as rows:
        numpyro.sample("x", dist.Normal(z, 1.0), obs=x[rows])


def run(kernel, *args, samples=20, chains=2, warmup=0):
    mcmc = MCMC(
        kernel,
        num_warmup=warmup,
        num_samples=samples,
        num_chains=chains,
        chain_method="vectorized",
        progress_bar=False,
    )
    mcmc.run(jax.random.key(0), *args)
    return mcmc


HALVES = ("posterior", "posterior_halfway")


@pytest.mark.parametrize("build", [SGHMC, SGHMCSplit, SGNHT])
def test_a_kernel_chooses_by_its_model(build):
    for model, args, expected in (
        (normal, (), (4 / 3, -1 / 3)),
        (subsampled, (jnp.arange(6.0),), (2, -1)),
    ):
        kernel = RichardsonRomberg(build(model, 0.1, friction=1.0))
        kernel.init(jax.random.key(0), 0, None, args, {})
        assert kernel.coefficients(kernel.structure) == pytest.approx(expected)


@pytest.mark.long
def test_files_keep_them_and_old_ones_cancel_h(tmp_path):
    data = to_inference_data(
        run(RichardsonRomberg(SGHMC(normal, 0.1, friction=1.0), levels=3)), verdict=False
    )
    data.to_netcdf(tmp_path / "run.nc")
    loaded = az.from_netcdf(tmp_path / "run.nc")
    others = ("posterior_middle", "posterior_coarse")

    def expected(fine, *rest):
        return pytest.approx(dict.fromkeys(HALVES, fine) | dict(zip(others, rest, strict=True)))

    assert coefficients(loaded) == expected(16 / 21, -12 / 21, 1 / 21)
    for group in (data, data["posterior"]):
        group.attrs.pop("extrapolation")
    assert coefficients(data) == expected(4 / 3, -2, 1 / 3)


@pytest.mark.long
def test_a_second_order_kernel_extrapolates_to_its_exact_variance():
    """h = 1, friction 1: 2 and -1 extrapolate to 0.18 here, 4/3 and -1/3 to 0.79."""
    mcmc = run(RichardsonRomberg(SGHMC(normal, 1.0, friction=1.0)), samples=500, chains=400)
    at = lambda h: 1 / (1 - h**2 / (4 - 2 * h))  # noqa: E731
    found = expectation(to_inference_data(mcmc, verdict=False), lambda sites: sites["z"] ** 2)
    # False-failure rate 6e-5, given the key; burn-in of some ten steps in 500 is 0.2 %.
    assert abs(found.value - (4 * at(0.5) - at(1.0)) / 3) < 4 * found.mcse + 0.005
    assert abs(found.value - (2 * at(0.5) - at(1.0))) > 20 * found.mcse
