"""Gaussian model of Chen et al. (2015, 2016): x_i ~ N(theta, 1), theta ~ N(0, 1).

N = 1,000 rows, minibatches of B = 10.

The test function is theta^2. U is quadratic and the gradient noise additive, so every kernel's
law is exact: of the stationary chain, and of each step from a random start.
"""

from functools import cache, partial
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from benchmarks.papers.explicit_euler import ExplicitEuler, explicit_euler
from benchmarks.papers.simulate import Runner
from numpyro_sgmcmc import SGHMC, SGLD, SGMCMC, SGHMCSplit
from tests.oracles import linear
from tests.oracles.recursion import DYNAMICS, Recursion, stationary_covariance

ROWS = 1_000
BATCH = 10
RECURSIONS = DYNAMICS | {"explicit": explicit_euler}
UNIT = np.eye(1)


class Setting(NamedTuple):
    """The posterior N(mean, variance), and the minibatch gradient's noise.

    Attributes:
        mean: of the posterior.
        variance: of the posterior.
        noise: where the rows are drawn with replacement.
        noise_of_subsets: where they are drawn without.
    """

    mean: float
    variance: float
    noise: linear.Noise
    noise_of_subsets: linear.Noise

    @property
    def hessian(self) -> np.ndarray:
        """Return the curvature of U, (1, 1)."""
        return np.array([[1 / self.variance]])

    @property
    def target(self) -> float:
        """Return the posterior's mean of theta^2."""
        return self.mean**2 + self.variance

    def gradient_noise(self, batch: int | None, *, replace: bool = True) -> linear.Noise:
        """Return the noise of a minibatch's gradient, or none."""
        if batch is None:
            return self.noise._replace(weight=0.0)
        return self.noise if replace else self.noise_of_subsets

    def stationary_variance(self, recursion: Recursion, h: float, batch: int | None) -> float:
        """Return the position's; nan where the chain is unstable."""
        if np.abs(np.linalg.eigvals(recursion.transition(self.hessian))).max() >= 1:
            return float("nan")
        law = stationary_covariance(recursion, self.hessian, self.gradient_noise(batch), h)
        return float(law[0, 0])


@cache
def data() -> np.ndarray:
    """Return the observations, drawn from the model."""
    rng = np.random.default_rng(0)
    return rng.normal() + rng.normal(size=ROWS)


@cache
def setting() -> Setting:
    """Return the exact posterior."""
    post = linear.posterior(np.ones((ROWS, 1, 1)), data()[:, None], np.ones(1))
    noise = (post.noise(BATCH), post.noise(BATCH, replace=False))
    return Setting(float(post.mode[0]), 1 / float(post.hessian[0, 0]), *noise)


def kernel(dynamics: str, friction: float, batch: int | None, dial: Any) -> Any:
    """Return the kernel of these dynamics."""
    model = partial(linear.model, scale=jnp.ones(1), subsample_size=batch)
    if dynamics == "langevin":
        return SGLD(model, dial)
    if dynamics == "hamiltonian":
        return SGHMC(model, dial, friction=friction)
    if dynamics == "splitting":
        return SGHMCSplit(model, dial, friction=friction)
    return SGMCMC(model, dial, dynamics=ExplicitEuler(friction))


@cache
def runner(dynamics: str, friction: float = 1.0, batch: int | None = BATCH) -> Runner:
    """Return a runner whose statistics are theta - mean and its square.

    With exact gradients the rows enter by their sum: one row of weight N has the same potential.
    """
    design, y = jnp.ones((ROWS, 1, 1)), jnp.asarray(data()[:, None], jnp.float32)
    if batch is None:
        root = np.sqrt(ROWS)
        design, y = jnp.full((1, 1, 1), root), jnp.full((1, 1), data().sum() / root)
    return Runner(partial(kernel, dynamics, friction, batch), (design, y), away_and_square)


def away_and_square(state: Any) -> Any:
    """Return theta - mean and its square."""
    away = state.z["theta"] - jnp.asarray(setting().mean, jnp.float32)
    return jnp.concatenate([away, away**2])


def random_start(chains: int, seed: int = 2) -> np.ndarray:
    """Return starts from the prior N(0, 1), (chains, 1)."""
    return np.random.default_rng(seed).normal(size=(chains, 1))


def error_of_square(values: np.ndarray) -> np.ndarray:
    """Return the error of the estimate of theta^2 from means of theta - mean and its square."""
    post = setting()
    return values[..., 1] + 2 * post.mean * values[..., 0] - post.variance
