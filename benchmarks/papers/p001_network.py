"""A small convolutional network on scikit-learn's digits, after LeNet: images, network, model."""

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.flatten_util import ravel_pytree

TRAIN, TESTED, CLASSES = 1_400, 397, 10
LAYERS = {
    "first": (9, 6),
    "second": (4 * 6, 12),
    "third": (4 * 12, 32),
    "fourth": (32, CLASSES),
}
"""Inputs and outputs: 6 filters 3 x 3, pool, 12 filters 2 x 2, 32 hidden units, the classes."""
SIZE = sum((inputs + 1) * out for inputs, out in LAYERS.values())


@cache
def images() -> tuple[jax.Array, jax.Array]:
    """Return 1,797 images (n, 8, 8) from 0 to 1 in random order, and their classes."""
    from sklearn.datasets import load_digits

    digits: Any = load_digits()
    order = np.random.default_rng(7).permutation(len(digits.images))
    x, y = digits.images[order] / 16, digits.target[order]
    return jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.int32)


def start(rng: np.random.Generator) -> np.ndarray:
    """Return flat weights, uniform of variance 1 / inputs as Caffe's "xavier", and no biases."""
    weights = {
        name: {
            "bias": np.zeros(out),
            "kernel": rng.uniform(-1, 1, (inputs, out)) * np.sqrt(3 / inputs),
        }
        for name, (inputs, out) in LAYERS.items()
    }
    return np.asarray(ravel_pytree(weights)[0], np.float32)


def _unravel(flat: jax.Array) -> Any:
    shapes = {
        name: {"bias": jnp.zeros(out), "kernel": jnp.zeros(both)}
        for name, both in LAYERS.items()
        for out in both[1:]
    }
    return ravel_pytree(shapes)[1](flat)


def logits(flat: jax.Array, x: jax.Array) -> jax.Array:
    """Return the network's outputs for images (n, 8, 8), as (n, 10)."""
    layers = _unravel(flat)
    hidden = jax.nn.relu(pool(convolve(layers["first"], x[..., None], 3)))
    hidden = jax.nn.relu(convolve(layers["second"], hidden, 2))
    flat_hidden = hidden.reshape(len(x), -1)
    hidden = jax.nn.relu(dense(layers["third"], flat_hidden))
    return dense(layers["fourth"], hidden)


def dense(layer: Any, x: jax.Array) -> jax.Array:
    """Return a full layer's outputs."""
    return x @ layer["kernel"] + layer["bias"]


def convolve(layer: Any, x: jax.Array, size: int) -> jax.Array:
    """Return filters of size x size applied to images (n, width, width, channels)."""
    # Shifted copies and one product: chains with other weights each stay one batched product.
    width = x.shape[1] - size + 1
    shifted = [x[:, i : i + width, j : j + width] for i in range(size) for j in range(size)]
    return dense(layer, jnp.concatenate(shifted, axis=-1))


def pool(x: jax.Array) -> jax.Array:
    """Return the largest value of each square of 2 x 2."""
    n, width, _, channels = x.shape
    return x.reshape(n, width // 2, 2, width // 2, 2, channels).max((2, 4))


def model(x: jax.Array, y: jax.Array, batch: int | None) -> None:
    """Weights ~ N(0, 1), y ~ Categorical(softmax(network(x)))."""
    theta = numpyro.sample("theta", dist.Normal(0.0, 1.0).expand([SIZE]).to_event(1))
    with numpyro.plate("rows", len(x), subsample_size=batch) as index:
        numpyro.sample("y", dist.Categorical(logits=logits(theta, x[index])), obs=y[index])


def energy(flat: jax.Array, x: jax.Array, y: jax.Array, share: float) -> jax.Array:
    """Return U, with the images' part divided by the share of all images that they are."""
    seen = jnp.take_along_axis(jax.nn.log_softmax(logits(flat, x)), y[:, None], axis=1)
    return -jnp.sum(seen) / share + jnp.sum(flat**2) / 2


@jax.jit
def log_chances(flat: jax.Array) -> jax.Array:
    """Return the log chance of each test image's class for each of many weights (m, d), (m, n)."""
    x, y = (each[TRAIN:] for each in images())

    def one(theta: jax.Array) -> jax.Array:
        return jnp.take_along_axis(jax.nn.log_softmax(logits(theta, x)), y[:, None], axis=1)[:, 0]

    return jax.lax.map(one, flat)
