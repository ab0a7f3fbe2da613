"""Runs of a network: two workers of Ray, their twin in one process, and what stands beside them."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.infer import MCMC

from benchmarks.papers.p001_ray_nets import Network
from numpyro_sgmcmc import SGHMC, AsyncMCMC, StaleGradient

WORKERS = 2
SEED = 5


class Course(NamedTuple):
    """Draws of some servers along a run, and the ages of their gradients.

    Attributes:
        weights: (server, K, d).
        ages: (server, transition).
    """

    weights: np.ndarray
    ages: np.ndarray


def by_ray(net: Network, servers: int = 1, **remedy: Any) -> Course:
    """Return the course of servers that share two workers of Ray.

    Args:
        net: the network.
        servers: their number, which divides that of the workers.
        remedy: as for `AsyncMCMC`.
    """
    each = WORKERS // servers
    run = AsyncMCMC(
        net.kernel(each * net.every),
        num_warmup=0,
        num_samples=net.iterations // net.every,
        num_servers=servers,
        num_workers=WORKERS,
        progress_bar=False,
        **remedy,
    )
    first = net.start if servers == 1 else np.stack([net.start] * servers)
    run.run(jax.random.key(SEED), *net.training, init_params={"theta": first})
    return Course(np.asarray(run.get_samples(group_by_chain=True)["theta"]), np.stack(run.ages))


def by_twin(net: Network, ages: np.ndarray, nudge: float = 0.0, **remedy: Any) -> np.ndarray:
    """Return the weights of the same servers with given ages, (server, K, d), without Ray.

    Args:
        net: the network.
        ages: of each server's gradients, (server, transition).
        nudge: by which first weights are multiplied and changed at random.
        remedy: as for `StaleGradient`.
    """
    servers = len(ages)
    kernel = net.kernel(WORKERS // servers * net.every)
    key = jax.random.key(SEED)
    keys = [key] if servers == 1 else list(jax.random.split(key, servers))
    return np.stack(
        [
            _draws(net, _aged(kernel, own, remedy), one, nudge)
            for own, one in zip(ages, keys, strict=True)
        ]
    )


def _aged(kernel: SGHMC, ages: np.ndarray, remedy: dict[str, Any]) -> StaleGradient:
    table = jnp.asarray(ages)
    return StaleGradient(
        kernel, lambda count: table[count], max_staleness=int(ages.max()), **remedy
    )


def alone(net: Network, gradients: int = 1) -> np.ndarray:
    """Return the weights of a server that waits for so many gradients each time, (1, K, d)."""
    return _draws(net, net.kernel(net.every, gradients), jax.random.key(SEED), 0.0)[None]


def _draws(net: Network, kernel: Any, key: jax.Array, nudge: float) -> np.ndarray:
    noise = np.random.default_rng(SEED).normal(size=net.start.shape)
    first = np.asarray(net.start * (1 + nudge * noise), net.start.dtype)
    draws = net.iterations // net.every
    mcmc = MCMC(kernel, num_warmup=0, num_samples=draws, progress_bar=False)
    mcmc.run(key, *net.training, init_params={"theta": jnp.asarray(first)})
    return np.asarray(mcmc.get_samples()["theta"])
