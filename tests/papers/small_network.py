"""A network without hidden layers, for tests of the runs with two workers."""

import jax
import numpy as np
import numpyro
import numpyro.distributions as dist

from benchmarks.papers.p001_ray_nets import Network

PIXELS, CLASSES, TRAIN, TESTED = 3, 4, 60, 20


def logits(flat, x):
    return x.reshape(len(x), -1) @ flat.reshape(PIXELS, CLASSES)


def model(x, y, batch):
    shape = dist.Normal(0.0, 1.0).expand([PIXELS * CLASSES]).to_event(1)
    theta = numpyro.sample("theta", shape)
    with numpyro.plate("rows", len(x), subsample_size=batch) as index:
        numpyro.sample("y", dist.Categorical(logits=logits(theta, x[index])), obs=y[index])


def network(iterations=8, every=4):
    """Return it with random images and classes."""
    rng = np.random.default_rng(0)

    def images(count):
        x = rng.normal(size=(count, PIXELS)).astype(np.float32)
        return x, rng.integers(0, CLASSES, count).astype(np.int32)

    start = np.asarray(jax.random.normal(jax.random.key(1), (PIXELS * CLASSES,)))
    pairs = images(TRAIN), images(TESTED)
    return Network("small", model, logits, start, 10, 0.01, *pairs, iterations, every)
