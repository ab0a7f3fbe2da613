"""A sigmoid belief network, its images, and exact sums over its hidden units."""

from functools import cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from benchmarks.calibration.data.wide import digits
from benchmarks.papers.annealed_importance import Network
from examples.idx import fashion_mnist


class Images(NamedTuple):
    """Pixels of 0 and 1, float32.

    Attributes:
        training: (images, pixels).
        test: (images, pixels).
    """

    training: np.ndarray
    test: np.ndarray


def parameters(units: int, pixels: int) -> Network:
    """Return the sites of the parameters, N(0, 1) each: the paper gives no priors."""

    def normal(name: str, *shape: int) -> jax.Array:
        return numpyro.sample(name, dist.Normal(0.0, 1.0).expand(shape).to_event(len(shape)))

    return Network(normal("weight", units, pixels), normal("bias", units), normal("offset", pixels))


def model(images: jax.Array, units: int, batch: int | None) -> None:
    """Binary pixels given binary hidden units, which are latents of rows.

    Args:
        images: pixels of 0 and 1, (images, pixels).
        units: number of hidden units.
        batch: number of images in a minibatch.
    """
    network = parameters(units, images.shape[1])
    with numpyro.plate("images", images.shape[0], subsample_size=batch) as i:
        hidden = numpyro.sample("hidden", dist.Bernoulli(logits=network.bias).to_event(1))
        logits = hidden @ network.weight + network.offset
        numpyro.sample("pixels", dist.Bernoulli(logits=logits).to_event(1), obs=images[i])


def summed(images: jax.Array, units: int) -> None:
    """The same posterior of the parameters, with the hidden units summed out."""
    network = parameters(units, images.shape[1])
    numpyro.factor("pixels", jnp.sum(log_probabilities(network, images)))


def log_probabilities(network: Network, images: jax.Array) -> jax.Array:
    """Return log p(v) of each image, (images,), by a sum over all states of the hidden units."""
    return jax.scipy.special.logsumexp(_joint(network, images)[0], axis=1)


def drawn(key: jax.Array, network: Network, images: jax.Array) -> jax.Array:
    """Return hidden units drawn from p(h | v, parameters), (images, units), int32."""
    joint, states = _joint(network, images)
    return states[jax.random.categorical(key, joint)]


def _joint(network: Network, images: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return log p(v, h) for all states, (images, states), and these, (states, units)."""
    units = network.bias.shape[0]
    states = jnp.asarray((np.arange(2**units)[:, None] >> np.arange(units)) % 2, jnp.int32)
    hidden = states.astype(network.bias.dtype)
    logits = hidden @ network.weight + network.offset
    prior = hidden @ network.bias - jnp.sum(jax.nn.softplus(network.bias))
    return images @ logits.T - jnp.sum(jax.nn.softplus(logits), axis=1) + prior, states


def pooled(images: np.ndarray, size: int, threshold: float) -> np.ndarray:
    """Return 1 where the mean of a square of pixels reaches a threshold, (images, pixels)."""
    count, rows, columns = images.shape
    squares = images.reshape(count, rows // size, size, columns // size, size)
    return (squares.mean((2, 4)) >= threshold).astype(np.float32).reshape(count, -1)


@cache
def images(name: str, test: int) -> Images:
    """Return "digits" of 4 x 4 pixels, or "clothes" (Fashion-MNIST) of 7 x 7, and some to test."""
    if name == "digits":
        split = digits()
        parts = [pooled(p[0].reshape(-1, 8, 8), 2, 0.25) for p in (split.fit, split.held_out)]
    else:
        parts = [pooled(part, 4, 128.0) for part in fashion_mnist()]
    return Images(parts[0], parts[1][:test])
