"""Caffe's quick net for CIFAR-10 at its full size: a short run of SGHMC, and what it costs.

    python -m benchmarks.papers.p001_quick_net [--steps N] [--folder F] [--cifar F]

The images are CIFAR-10's where `--cifar` names the folder of its binary version. CIFAR-10 is in no
package, so that without it Fashion-MNIST stands in, with a border and three equal colours.
"""

import argparse
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.flatten_util import ravel_pytree

from benchmarks.clock import now
from benchmarks.papers.p001_network import convolve, dense
from examples.cifar import cifar10
from examples.idx import FASHION_MNIST, fashion_mnist, fashion_mnist_classes
from numpyro_sgmcmc import SGHMCSplit

LAYERS = {
    "first": (25 * 3, 32),
    "second": (25 * 32, 32),
    "third": (25 * 32, 64),
    "fourth": (16 * 64, 64),
    "fifth": (64, 10),
}
"""Inputs and outputs: 32, 32 and 64 filters 5 x 5, each with a pool; 64 hidden units; classes."""
SIZE = sum((inputs + 1) * out for inputs, out in LAYERS.values())
BATCH, RATE, MOMENTUM = 100, 1e-3, 0.9
"""Caffe's minibatch, h^2 N and 1 - D h."""


def padded(images: np.ndarray) -> np.ndarray:
    """Return grey images (n, 28, 28) as coloured ones (n, 32, 32, 3)."""
    return np.repeat(np.pad(images, ((0, 0), (2, 2), (2, 2)))[..., None], 3, axis=-1)


def images(folder: Path, cifar: Path | None) -> tuple[tuple[jax.Array, jax.Array], ...]:
    """Return training and test images, minus the mean training image as in Caffe, and classes."""
    if cifar is not None:
        pairs = [(part.images, part.classes) for part in cifar10(cifar)]
    else:
        pairs = [
            (padded(x), y)
            for x, y in zip(fashion_mnist(folder), fashion_mnist_classes(folder), strict=True)
        ]
    mean = pairs[0][0].mean(0)
    return tuple(
        (jnp.asarray((x - mean) / 255, jnp.float32), jnp.asarray(y, jnp.int32)) for x, y in pairs
    )


def _pool(x: jax.Array) -> jax.Array:
    """Return the largest value of squares of 3 x 3, two pixels apart."""
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")


def _bordered(layer: Any, x: jax.Array) -> jax.Array:
    return convolve(layer, jnp.pad(x, ((0, 0), (2, 2), (2, 2), (0, 0))), 5)


def logits(flat: jax.Array, x: jax.Array) -> jax.Array:
    """Return the network's outputs for images (n, 32, 32, 3), as (n, 10)."""
    layers = _unravel(flat)
    for name in ("first", "second", "third"):
        x = jax.nn.relu(_pool(_bordered(layers[name], x)))
    return dense(layers["fifth"], dense(layers["fourth"], x.reshape(len(x), -1)))


def _unravel(flat: jax.Array) -> Any:
    shapes = {
        name: {"bias": jnp.zeros(out), "kernel": jnp.zeros((inputs, out))}
        for name, (inputs, out) in LAYERS.items()
    }
    return ravel_pytree(shapes)[1](flat)


def start(seed: int) -> jax.Array:
    """Return flat weights, normal of variance 2 / inputs, and no biases."""
    rng = np.random.default_rng(seed)
    weights = {
        name: {
            "bias": np.zeros(out),
            "kernel": rng.normal(size=(inputs, out)) * np.sqrt(2 / inputs),
        }
        for name, (inputs, out) in LAYERS.items()
    }
    return jnp.asarray(ravel_pytree(weights)[0], jnp.float32)


def model(x: jax.Array, y: jax.Array, batch: int | None = BATCH) -> None:
    """Weights ~ N(0, 1), y ~ Categorical(softmax(network(x)))."""
    theta = numpyro.sample("theta", dist.Normal(0.0, 1.0).expand([SIZE]).to_event(1))
    with numpyro.plate("rows", len(x), subsample_size=batch) as index:
        numpyro.sample("y", dist.Categorical(logits=logits(theta, x[index])), obs=y[index])


def run(data: tuple[jax.Array, jax.Array], steps: int, seed: int = 0) -> tuple[jax.Array, float]:
    """Return weights after so many transitions of `SGHMCSplit`, and seconds of one."""
    h = float(np.sqrt(RATE / len(data[0])))
    batch = min(BATCH, len(data[0]))
    kernel = SGHMCSplit(partial(model, batch=batch), h, friction=(1 - MOMENTUM) / h)
    first = {"theta": start(seed)[None]}
    state = kernel.init(jax.random.split(jax.random.key(seed), 1), 0, first, data, {})

    @jax.jit
    def several(state: Any, count: Any, data: tuple) -> Any:
        return jax.lax.fori_loop(0, count, lambda _, s: kernel.sample(s, data, {}), state)

    jax.block_until_ready(several(state, 0, data))  # compiles
    begin = now()
    state = jax.block_until_ready(several(state, steps, data))
    return state.z["theta"][0], (now() - begin) / steps


@jax.jit
def loss(flat: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
    """Return the mean loss."""
    seen = jnp.take_along_axis(jax.nn.log_softmax(logits(flat, x)), y[:, None], axis=1)
    return -jnp.mean(seen)


def main() -> None:
    """Run, and print the losses of 500 test images before and after."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--steps", type=int, default=200)
    words.add_argument("--folder", type=Path, default=FASHION_MNIST, help="Fashion-MNIST's files")
    words.add_argument("--cifar", type=Path, help="CIFAR-10's binary files")
    given = words.parse_args()
    training, test = images(given.folder, given.cifar)
    some = tuple(part[:500] for part in test)
    weights, seconds = run(training, given.steps)
    before, after = (float(loss(each, *some)) for each in (start(0), weights))
    print(f"{SIZE:,} weights, B = {BATCH}, {given.steps} steps of {1e3 * seconds:.0f} ms")
    print(f"test loss {before:.3f} before, {after:.3f} after")


if __name__ == "__main__":
    main()
