"""Chains of a large sigmoid belief network through `MCMC`, with a move of the user's own."""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.infer import MCMC

import numpyro_sgmcmc as sg
from benchmarks.calibration.data.wide import digits
from benchmarks.papers.annealed_importance import Network, ladder, of_draws, swept
from benchmarks.papers.p000_belief import Images, model
from examples.idx import fashion_mnist

KERNELS: dict[str, Any] = {
    "splitting": sg.SGHMCSplit,
    "hamiltonian": sg.SGHMC,
    "langevin": sg.SGLD,
}
RUNS = 4
"""Runs of annealed importance sampling for each image. Their spread gives its bias and error."""


class Size(NamedTuple):
    """Sizes of an experiment.

    Attributes:
        name: of the images.
        units: hidden units.
        batch: images in a minibatch.
        steps: transitions of a chain.
        points: equally spaced times, the last at the end, at which a chain is scored.
        chains: chains.
        test: images to test.
        powers: powers of the likelihood in annealed importance sampling.
    """

    name: str
    units: int
    batch: int
    steps: int
    points: int
    chains: int
    test: int
    powers: int


class Scores(NamedTuple):
    """Mean of -log p(v | parameters) over test images.

    Attributes:
        values: by chain and time, (chains, points).
        spread: mean standard deviation of log weights of an image, (points,).
    """

    values: np.ndarray
    spread: np.ndarray


@cache
def images(name: str, test: int) -> Images:
    """Return scikit-learn's "digits", 8 x 8 pixels, or "clothes" (Fashion-MNIST), 28 x 28.

    A pixel is 1 where its brightness reaches a half, for the clothes, or a quarter.
    """
    if name == "digits":
        split = digits()
        parts = [(part[0] >= 0.25).astype(np.float32) for part in (split.fit, split.held_out)]
    else:
        parts = [
            (part >= 128).astype(np.float32).reshape(len(part), -1) for part in fashion_mnist()
        ]
    return Images(parts[0], parts[1][:test])


def move_of(data: jax.Array) -> Callable[..., dict[str, jax.Array]]:
    """Return the move of hidden units: a Gibbs sweep with changes of rank one.

    The kernel's own Gibbs steps evaluate the density of a row for each unit, which costs a product
    of all hidden units with all weights.
    """

    def move(
        rng_key: jax.Array,
        gibbs_sites: dict[str, jax.Array],
        hmc_sites: dict[str, jax.Array],
        rows: jax.Array,
    ) -> dict[str, jax.Array]:
        network = Network(*(hmc_sites[name] for name in Network._fields))
        hidden = gibbs_sites["hidden"]
        after = swept(rng_key, network, data[rows], hidden.astype(data.dtype), 1.0)
        return {"hidden": after.astype(hidden.dtype)}

    return move


def starts(size: Size) -> dict[str, jax.Array]:
    """Return where chains of all samplers start: weights N(0, 0.1^2), biases and offsets 0."""
    pixels = images(size.name, size.test).training.shape[1]
    shape = size.chains, size.units, pixels
    return {
        "weight": 0.1 * jax.random.normal(jax.random.key(1), shape),
        "bias": jnp.zeros((size.chains, size.units)),
        "offset": jnp.zeros((size.chains, pixels)),
    }


def draws(key: jax.Array, size: Size, name: str, h: float, friction: float) -> Network:
    """Return parameters at some times, (chains, points, ...), by a sampler of the package.

    Args:
        key: of the run.
        size: sizes of the experiment.
        name: of the sampler.
        h: its step size.
        friction: D sqrt(h), which SGLD does not have.
    """
    data = jnp.asarray(images(size.name, size.test).training)
    own = {} if name == "langevin" else {"friction": friction / h**0.5}
    options: Any = {"num_steps": size.steps // size.points, "latent_move": move_of(data)}
    kernel = KERNELS[name](model, h, **own, **options)
    mcmc = MCMC(
        kernel,
        num_warmup=0,
        num_samples=size.points,
        num_chains=size.chains,
        chain_method="vectorized",
        progress_bar=False,
    )
    sg.run(mcmc, key, data, size.units, size.batch, init_params=starts(size))
    found = mcmc.get_samples(group_by_chain=True)
    return Network(*(found[name] for name in Network._fields))


def scores(key: jax.Array, size: Size, networks: Network) -> Scores:
    """Return scores by annealed importance sampling of parameters (chains, points, ...).

    The logarithm of the mean of n weights is too small by s^2 / (2 n) on average, to first order,
    with s^2 the variance of a weight in units of the mean, which is added.
    """
    test = jnp.asarray(images(size.name, size.test).test)
    flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), networks)
    powers = jnp.asarray(ladder(size.powers), jnp.float32)
    logs = np.asarray(of_draws(key, flat, test, powers, RUNS), np.float64)
    top = logs.max(1, keepdims=True)
    weights = np.exp(logs - top)
    mean = weights.mean(1)
    square = weights.var(1, ddof=1) / RUNS / mean**2
    values = -(np.log(mean) + top[:, 0]) - square / 2
    shape = networks.bias.shape[:2]
    spread = logs.std(1, ddof=1).mean(1).reshape(shape).mean(0)
    return Scores(values.mean(1).reshape(shape), spread)


def without_units(size: Size) -> float:
    """Return the mean negative log probability of a test image if pixels were independent."""
    training, test = images(size.name, size.test)
    chance = (training.sum(0, dtype=np.float64) + 1) / (len(training) + 2)
    return float(-np.mean(np.sum(np.where(test == 1, np.log(chance), np.log1p(-chance)), axis=1)))
