"""Order of accuracy where the target is not Gaussian: a small logistic posterior.

There are two kinds of tests: by the exact distribution of each scheme from quadrature
(tests/oracles/grid.py), and by kernels run at two step sizes. A simulated test makes two
comparisons at 4 standard errors (7.5e-5 each), and requires that the other order is at least 4
standard errors away. 10 or more are expected, so this fails with probability below 1e-8. Keys are
fixed.
"""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from scipy.integrate import quad

from numpyro_sgmcmc import SGHMC, SGLD, SGRRLD, UBU, SGHMCSplit
from tests.exactness.simulate import simulate
from tests.marks import briefly
from tests.oracles import grid
from tests.oracles.monte_carlo import Z, assert_averages
from tests.oracles.slope import order

ROWS, ONES, FRICTION, CHAINS = 6, 4, 2.0, 4_000


def model(y):
    theta = numpyro.sample("theta", dist.ImproperUniform(dist.constraints.real, (), ()))
    numpyro.sample("y", dist.Bernoulli(logits=theta).expand([ROWS]).to_event(1), obs=y)


def gradient(z):
    return ROWS / (1 + np.exp(-z)) - ONES


def density(z):
    return np.exp(ONES * z - ROWS * np.logaddexp(0, z))


def exact_moment():
    mass, moment = (
        quad(lambda z, k=k: z**k * density(z), -40, 40, epsabs=1e-14, limit=500)[0] for k in (0, 2)
    )
    return moment / mass


def langevin(h):
    return grid.langevin(gradient, h)


def extrapolated(h):
    return 2 * langevin(h / 2) - langevin(h)


def splitting(h):
    return grid.splitting(gradient, h, FRICTION)


def hamiltonian(h):
    return grid.hamiltonian(gradient, h, FRICTION)


def exact_friction(h):
    return grid.exact_friction(gradient, h, FRICTION)


SCHEMES = [
    (langevin, 1),
    (extrapolated, 2),
    (splitting, 2),
    (hamiltonian, 2),
    (exact_friction, 2),
]


@pytest.mark.parametrize(
    ("exact_at", "expected"),
    briefly(SCHEMES, SCHEMES[:3]),
    ids=[exact_at.__name__ for exact_at, _ in SCHEMES],
)
def test_exact_bias(exact_at, expected):
    target = exact_moment()
    slope = order(lambda h: exact_at(h) - target, np.array([0.04, 0.06, 0.08]))
    assert abs(slope - expected) < 0.15


def draw_posterior():
    """Start each chain at the posterior: the schemes' distributions are near it."""
    z = np.linspace(-12, 12, 4_001)
    shares = density(z) / density(z).sum()
    return jax.random.choice(jax.random.key(2), jnp.asarray(z), (CHAINS,), p=jnp.asarray(shares))


CASES = {
    "SGLD": (SGLD, langevin, 1, 0.32),
    "SGRRLD": (SGRRLD, extrapolated, 2, 0.64),
    "SGHMCSplit": (SGHMCSplit, splitting, 2, 1.2),
    "SGHMC": (SGHMC, hamiltonian, 2, 0.5),
    "UBU": (UBU, exact_friction, 2, 1.2),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_simulated_bias(name):
    build, exact_at, expected, largest = CASES[name]
    options = {"friction": FRICTION} if issubclass(build, SGHMC | SGHMCSplit | UBU) else {}
    fields = ("z", "z_halfway", "z_coarse") if name == "SGRRLD" else ("z",)
    target, biases, errors = exact_moment(), [], []
    y = jnp.asarray(np.arange(ROWS) < ONES, jnp.float32)
    for h in (largest, largest / 2):
        walkers = simulate(
            build(model, h, **options),
            (y,),
            chains=CHAINS,
            burn_in=int(20 / h),
            draws=int(300 / h),
            start=draw_posterior(),
            fields=fields,
        )
        squares = [np.mean(np.asarray(walker, np.float64) ** 2, axis=1) for walker in walkers]
        fine, halfway, coarse = squares if len(squares) == 3 else squares * 3
        by_chain = (fine + halfway - coarse)[:, None]
        assert_averages(by_chain, np.array([exact_at(h)]))
        biases.append(by_chain.mean() - target)
        errors.append(by_chain.std(ddof=1) / np.sqrt(CHAINS))
    # The other order would have divided the bias by 2 instead of 4, or by 4 instead of 2.
    factor = 2.0 ** (3 - expected)
    gap = biases[1] - biases[0] / factor
    assert abs(gap) > Z * np.hypot(errors[1], errors[0] / factor)
