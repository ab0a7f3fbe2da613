"""Linear model of Durmus et al. (2016): x_n ~ N(a_n' theta, 1), theta ~ N(0, 10 I).

The rows a_n are drawn from N(0, I / 2). Minibatches are subsets of the rows, drawn without
replacement, as in the paper (its equation 3).
"""

from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from benchmarks.papers.simulate import Runner
from benchmarks.papers.subsets import Subset
from numpyro_sgmcmc import SGHMC, SGLD, SGRRHMC, SGRRLD, SGHMCSplit
from tests.oracles.linear import Noise
from tests.oracles.recursion import DYNAMICS, stationary_covariance

ROWS, BATCH = 1_000, 100
MINIBATCH = Subset(low=25)
PRIOR_VARIANCE = 10.0
FRICTION = 30.0
"""The paper does not give SGHMC's friction."""
KERNELS = {
    "SGLD": (SGLD, "langevin"),
    "SGRRLD": (SGRRLD, "langevin"),
    "SGHMC": (SGHMC, "hamiltonian"),
    "SGHMC-s": (SGHMCSplit, "splitting"),
    "SGRRHMC": (SGRRHMC, "hamiltonian"),
}


def model(features: jax.Array, response: jax.Array) -> None:
    """The NumPyro model."""
    rows, columns = features.shape
    prior = dist.Normal(0.0, PRIOR_VARIANCE**0.5).expand([columns]).to_event(1)
    theta = numpyro.sample("theta", prior)
    with numpyro.plate("rows", rows, subsample_size=BATCH) as index:
        numpyro.sample("x", dist.Normal(features[index] @ theta, 1.0), obs=response[index])


class Posterior(NamedTuple):
    """The posterior N(mean, hessian^-1) and the minibatch gradient's noise, linear in theta."""

    mean: np.ndarray
    hessian: np.ndarray
    noise: Noise

    @property
    def covariance(self) -> np.ndarray:
        """Return the posterior's."""
        return np.linalg.inv(self.hessian)

    def stationary(self, method: str, h: float) -> np.ndarray:
        """Return the covariance that a method's draws stand for; extrapolated for SGRR."""
        size = len(self.mean)

        def at(step: float) -> np.ndarray:
            recursion = DYNAMICS[KERNELS[method][1]](step, np.eye(size), FRICTION)
            moments = stationary_covariance(recursion, self.hessian, self.noise, step)
            return moments[:size, :size]

        return 2 * at(h / 2) - at(h) if method.startswith("SGRR") else at(h)


@cache
def data(dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Return features and response, drawn from the model."""
    rng = np.random.default_rng(3)
    features = rng.normal(size=(ROWS, dimension)) * np.sqrt(0.5)
    theta = rng.normal(size=dimension) * np.sqrt(PRIOR_VARIANCE)
    return features, features @ theta + rng.normal(size=ROWS)


@cache
def posterior(dimension: int) -> Posterior:
    """Return the exact posterior and gradient noise."""
    features, response = data(dimension)
    outer = np.einsum("ni,nj->nij", features, features)
    hessian = outer.sum(0) + np.eye(dimension) / PRIOR_VARIANCE
    mean = np.linalg.solve(hessian, features.T @ response)
    gradients = ROWS * features * (features @ mean - response)[:, None]
    weight = (ROWS - BATCH) / (ROWS - 1) / BATCH  # without replacement
    noise = Noise(gradients - gradients.mean(0), ROWS * outer - outer.sum(0), weight)
    return Posterior(mean, hessian, noise)


@cache
def runner(method: str, dimension: int) -> Runner:
    """Return a runner whose statistic estimates E (theta - mean)(theta - mean)', flat.

    Richardson-Romberg's is the combination of its walkers (equation 6 of the paper).
    """
    features, response = data(dimension)
    mean = jnp.asarray(posterior(dimension).mean, jnp.float32)

    def square(z: dict[str, jax.Array]) -> jax.Array:
        away = z["theta"] - mean
        return jnp.outer(away, away).ravel()

    def statistic(state: Any) -> jax.Array:
        if method.startswith("SGRR"):
            return square(state.z) + square(state.z_halfway) - square(state.z_coarse)
        return square(state.z)

    build, dynamics = KERNELS[method]
    options = {} if dynamics == "langevin" else {"friction": FRICTION}
    args = (jnp.asarray(features, jnp.float32), jnp.asarray(response, jnp.float32))

    def make(dial: Any) -> Any:
        return build(model, dial, minibatch=MINIBATCH, **options)

    return Runner(make, args, statistic)


def random_start(method: str, dimension: int, chains: int) -> np.ndarray:
    """Return starts from N(0, I), the paper's not being given."""
    seed = list(KERNELS).index(method)
    return np.random.default_rng(seed).normal(size=(chains, dimension))


def expected_second_moment(method: str, h: float, burn_in: int, steps: int) -> float:
    """Return the expectation of a run's estimate of the variance, one dimension, random start.

    M <- A M A' + weight mean_i F_i M F_i' + added is affine in M, so sums over steps are exact. For
    SGRR the fine walker takes twice as many half steps.
    """
    if method.startswith("SGRR"):
        fine = _expected(method, h / 2, 2 * burn_in, 2 * steps)
        return 2 * fine - _expected(method, h, burn_in, steps)
    return _expected(method, h, burn_in, steps)


def _expected(method: str, h: float, burn_in: int, steps: int) -> float:
    post = posterior(1)
    recursion = DYNAMICS[KERNELS[method][1]](h, np.eye(1), FRICTION)
    move = recursion.transition(post.hessian)
    size = len(move)
    rows = recursion.kick @ post.noise.linear @ recursion.look
    spread = post.noise.weight * np.einsum("nij,nkl->ikjl", rows, rows) / ROWS
    operator = np.kron(move, move) + spread.reshape(size**2, size**2)
    settled = stationary_covariance(recursion, post.hessian, post.noise, h).ravel()
    first = np.eye(size)
    first[0, 0] += post.mean[0] ** 2
    power = partial(np.linalg.matrix_power, operator)
    away = power(burn_in + 1) @ (first.ravel() - settled)
    summed = np.linalg.solve(np.eye(size**2) - operator, away - power(steps) @ away)
    return float(settled[0] + summed[0] / steps)
