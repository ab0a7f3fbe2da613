"""The networks of Chen et al. (2016) that two workers of Ray train on some of Fashion-MNIST."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.papers import p001_lenet as lenet
from benchmarks.papers import p001_quick_net as quick_net
from benchmarks.papers.p001_lenet_runs import BATCH, MOMENTUM
from numpyro_sgmcmc import SGHMC

TRAIN, TESTED = 10_000, 1_000
RATES = {"LeNet": 0.003, "quick net": 0.001}
"""h^2 N: Caffe's for the quick net, and a third of it for LeNet, which diverges at Caffe's if
gradients are old."""
SEEN = 250
"""Images that the curvature is measured on."""


class Network(NamedTuple):
    """A network with its data.

    Attributes:
        name: of the network.
        model: of images x, classes y and the minibatch's size.
        logits: of flat weights and images.
        start: flat weights, (d,).
        batch: Caffe's minibatch.
        rate: h^2 N.
        training: images and classes.
        test: images and classes.
        iterations: of each worker.
        every: iterations of each worker from one draw to the next.
    """

    name: str
    model: Callable
    logits: Callable
    start: np.ndarray
    batch: int
    rate: float
    training: tuple[np.ndarray, np.ndarray]
    test: tuple[np.ndarray, np.ndarray]
    iterations: int
    every: int

    def kernel(self, transitions: int, gradients: int = 1) -> SGHMC:
        """Return the kernel with a draw after so many transitions.

        Args:
            transitions: of a draw.
            gradients: whose mean a transition takes, each of a minibatch.
        """
        h = float(np.sqrt(self.rate / len(self.training[0])))
        batch = min(gradients * self.batch, len(self.training[0]))
        model, friction = partial(self.model, batch=batch), (1 - MOMENTUM) / h
        return SGHMC(model, h, friction=friction, num_steps=transitions)


def clothes(folder: Path) -> list[Network]:
    """Return both networks with Fashion-MNIST from a folder."""
    sets = lenet.clothes(folder)
    coloured = quick_net.images(folder, None)
    return [
        network("LeNet", sets.training, sets.test, iterations=100, every=10),
        network("quick net", *coloured, iterations=32, every=4),
    ]


def network(name: str, training: Any, test: Any, *, iterations: int, every: int) -> Network:
    """Return a network, "LeNet" or "quick net", with the first images of these."""
    module: Any = {"LeNet": lenet, "quick net": quick_net}[name]

    def some(pair: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
        x, y = pair
        return np.asarray(x[:count]), np.asarray(y[:count])

    return Network(
        name,
        module.model,
        module.logits,
        np.asarray(module.start(1)),
        BATCH if module is lenet else quick_net.BATCH,
        RATES[name],
        some(training, TRAIN),
        some(test, TESTED),
        iterations,
        every,
    )


def log_chances(net: Network, weights: np.ndarray) -> np.ndarray:
    """Return the log chance of each test image's class, (..., n), by weights (..., d)."""
    x, y = (jnp.asarray(part) for part in net.test)

    @jax.jit
    def one(theta: jax.Array) -> jax.Array:
        def of_image(pair: tuple) -> jax.Array:
            return jax.nn.log_softmax(net.logits(theta, pair[0][None]))[0, pair[1]]

        return jax.lax.map(of_image, (x, y), batch_size=100)

    flat = weights.reshape(-1, weights.shape[-1])
    found = np.stack([np.asarray(one(jnp.asarray(theta)), np.float64) for theta in flat])
    return found.reshape(*weights.shape[:-1], -1)


def curvature(net: Network, weights: np.ndarray) -> np.ndarray:
    """Return the diagonal of the Fisher information of the training images and the prior, (d,).

    Classes are summed over with the network's own chances, at some of the images.
    """
    count = min(SEEN, len(net.training[0]))

    @jax.jit
    def of_images(theta: jax.Array, x: jax.Array) -> jax.Array:
        def add(total: jax.Array, image: jax.Array) -> tuple[jax.Array, None]:
            def chances(theta: jax.Array) -> jax.Array:
                return jax.nn.log_softmax(net.logits(theta, image[None]))[0]

            own = jnp.exp(chances(theta)) @ jax.jacrev(chances)(theta) ** 2
            return total + own, None

        return jax.lax.scan(add, jnp.zeros_like(theta), x)[0]

    found = of_images(jnp.asarray(weights), jnp.asarray(net.training[0][:count]))
    return np.asarray(1 + found * (len(net.training[0]) / count), np.float64)
