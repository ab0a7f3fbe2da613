"""LeNet on grey images of 28 x 28 pixels: data, network, model."""

from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.flatten_util import ravel_pytree
from scipy.ndimage import rotate, zoom

from benchmarks.papers.p001_network import convolve, dense, pool
from examples.idx import fashion_mnist, fashion_mnist_classes

CLASSES, WIDTH = 10, 28
LAYERS = {
    "first": (25, 20),
    "second": (25 * 20, 50),
    "third": (16 * 50, 500),
    "fourth": (500, CLASSES),
}
"""Inputs and outputs: 20 filters 5 x 5, pool, 50 filters 5 x 5, pool, 500 hidden units, classes."""
SIZE = sum((inputs + 1) * out for inputs, out in LAYERS.values())
VALIDATING, ODD = 2_000, 1_000
"""Images held out of the training images to choose settings, and images of each odd kind."""
ANGLES = (45, 90)


class Labelled(NamedTuple):
    """Images (n, 28, 28) from 0 to 1, and their classes."""

    x: jax.Array
    y: jax.Array


class Sets(NamedTuple):
    """What is fitted, what chooses settings, what is scored, and images of other kinds by name."""

    training: Labelled
    validation: Labelled
    test: Labelled
    odd: dict[str, jax.Array]


def clothes(folder: Path) -> Sets:
    """Return Fashion-MNIST from a folder; scikit-learn's digits are the images of another kind."""
    x, y = fashion_mnist(folder), fashion_mnist_classes(folder)
    order = np.random.default_rng(3).permutation(len(y.training))
    kept, chosen = order[VALIDATING:], order[:VALIDATING]
    return _sets(
        _labelled(x.training[kept] / 255, y.training[kept]),
        _labelled(x.training[chosen] / 255, y.training[chosen]),
        _labelled(x.test / 255, y.test),
        {"digits": _digits().x[:ODD]},
    )


def digits() -> Sets:
    """Return scikit-learn's digits, enlarged."""
    x, y = _digits()
    parts = (slice(0, 1_400), slice(1_400, 1_500), slice(1_500, None))
    return _sets(*(Labelled(x[part], y[part]) for part in parts), {})


def _sets(training: Labelled, validation: Labelled, test: Labelled, odd: dict[str, Any]) -> Sets:
    few = np.asarray(test.x[:ODD])
    turned = {
        f"rotated by {angle}°": jnp.asarray(
            np.clip(rotate(few, angle, axes=(2, 1), reshape=False, order=1), 0, 1)
        )
        for angle in ANGLES
    }
    return Sets(training, validation, test, turned | odd)


def _labelled(x: np.ndarray, y: np.ndarray) -> Labelled:
    return Labelled(jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.int32))


def _digits() -> Labelled:
    """Return 1,797 digits in random order: 8 x 8 pixels enlarged to 24 x 24, with a border."""
    from sklearn.datasets import load_digits

    found: Any = load_digits()
    order = np.random.default_rng(7).permutation(len(found.images))
    large = np.clip(zoom(found.images[order] / 16, (1, 3, 3), order=1), 0, 1)
    return _labelled(np.pad(large, ((0, 0), (2, 2), (2, 2))), found.target[order])


def start(seed: int) -> jax.Array:
    """Return flat weights, uniform of variance 1 / inputs as Caffe's "xavier", and no biases."""
    rng = np.random.default_rng(seed)
    weights = {
        name: {
            "bias": np.zeros(out),
            "kernel": rng.uniform(-1, 1, (inputs, out)) * np.sqrt(3 / inputs),
        }
        for name, (inputs, out) in LAYERS.items()
    }
    return jnp.asarray(ravel_pytree(weights)[0], jnp.float32)


def _unravel(flat: jax.Array) -> Any:
    shapes = {
        name: {"bias": jnp.zeros(out), "kernel": jnp.zeros((inputs, out))}
        for name, (inputs, out) in LAYERS.items()
    }
    return ravel_pytree(shapes)[1](flat)


def logits(flat: jax.Array, x: jax.Array) -> jax.Array:
    """Return the network's outputs for images (n, 28, 28), as (n, 10)."""
    layers = _unravel(flat)
    hidden = pool(convolve(layers["first"], x[..., None], 5))
    hidden = pool(convolve(layers["second"], hidden, 5)).reshape(len(x), -1)
    return dense(layers["fourth"], jax.nn.relu(dense(layers["third"], hidden)))


def model(x: jax.Array, y: jax.Array, batch: int | None) -> None:
    """Weights ~ N(0, 1), y ~ Categorical(softmax(network(x)))."""
    theta = numpyro.sample("theta", dist.Normal(0.0, 1.0).expand([SIZE]).to_event(1))
    with numpyro.plate("rows", len(x), subsample_size=batch) as index:
        numpyro.sample("y", dist.Categorical(logits=logits(theta, x[index])), obs=y[index])


def energy(flat: jax.Array, x: jax.Array, y: jax.Array, share: Any) -> jax.Array:
    """Return U, with the images' part divided by the share of all images that they are."""
    seen = jnp.take_along_axis(jax.nn.log_softmax(logits(flat, x)), y[:, None], axis=1)
    return -jnp.sum(seen) / share + jnp.sum(flat**2) / 2


@jax.jit
def chances(flat: jax.Array, x: jax.Array) -> jax.Array:
    """Return the chances of the classes by each of many weights (m, d), as (m, n, 10)."""

    def one(theta: jax.Array) -> jax.Array:
        return jax.lax.map(
            lambda image: jax.nn.softmax(logits(theta, image[None]))[0], x, batch_size=100
        )

    return jax.lax.map(one, flat)
