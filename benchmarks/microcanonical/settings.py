"""Where runs start, their scales, and the grid of settings."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from numpyro.infer import MCMC

from benchmarks.calibration.problems import Problem
from numpyro_sgmcmc import SGHMCSplit
from numpyro_sgmcmc.model import read_structure, stochastic_potential
from numpyro_sgmcmc.types import Minibatch

CHAINS = 4
NOISE_BATCHES = 16
"""Minibatches at each chain's start behind the variances of the gradient noise."""


class Found(NamedTuple):
    """What the untuned warm-up of `SGHMCSplit` chose, and where its chains start.

    Attributes:
        starts: unconstrained values by site, (chains, ...).
        step_size: h.
        friction: D.
        scales: of the parameters by name of the choice, (d,) each.
    """

    starts: dict[str, jax.Array]
    step_size: float
    friction: float
    scales: dict[str, jax.Array]


def found(problem: Problem) -> Found:
    """Return the warm-up's settings and starts, and scales from the gradient noise.

    With V_i the variance of a gradient's coordinate over minibatches of B of N rows, B V_i / N is
    the curvature of the log likelihood (Fisher's identity), and 1 that of a standard normal prior.
    The scale "noise" is (1 + B V_i / N)^(-1/2): the noise is nearly the same in all coordinates
    that have much, and no scale exceeds the prior's.
    """
    arguments = tuple(map(jnp.asarray, problem.arguments))
    kernel = SGHMCSplit(partial(problem.model, subsample_size=problem.batch))
    mcmc = MCMC(
        kernel,
        num_warmup=1_000,
        num_samples=1,
        num_chains=CHAINS,
        chain_method="vectorized",
        jit_model_args=True,
        progress_bar=False,
    )
    mcmc.warmup(jax.random.key(0), *arguments)
    state: Any = mcmc.last_state
    tuned = jax.tree.map(lambda x: x[0], state.tuned)
    size = sum(x[0].size for x in state.z.values())
    # A diagonal of the map: what it does to all coordinates together would need its columns.
    linear = tuned.preconditioner
    adapted = linear.scale if hasattr(linear, "scale") else linear.outer * linear.inner
    return Found(
        state.z,
        float(tuned.step_size),
        float(tuned.friction),
        {
            "adapted": adapted,
            "noise": _noise_scales(problem, arguments, state.z),
            "none": jnp.ones(size),
        },
    )


def _noise_scales(problem: Problem, arguments: tuple, starts: dict[str, jax.Array]) -> jax.Array:
    options = {"subsample_size": problem.batch}
    structure = read_structure(problem.model, arguments, options)
    potential = stochastic_potential(structure, arguments, options)
    ((name, plate),) = structure.plates.items()

    def gradient(start: dict[str, jax.Array], key: jax.Array) -> jax.Array:
        rows = jax.random.randint(key, (problem.batch,), 0, plate.size)
        return jax.grad(potential)(structure.ravel(start), Minibatch({name: rows}, None))

    @jax.jit
    def variances(starts: dict[str, jax.Array], keys: jax.Array) -> jax.Array:
        of_start = jax.vmap(jax.vmap(gradient, (None, 0)))
        return jnp.var(of_start(starts, keys), axis=1, ddof=1).mean(0)

    keys = jax.random.split(jax.random.key(1), (CHAINS, NOISE_BATCHES))
    return 1 / jnp.sqrt(1 + problem.batch / plate.size * variances(starts, keys))
