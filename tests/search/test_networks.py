"""A Bayesian network on real digits: the numbers that are found predict what others do not."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from flax import linen
from numpyro.contrib.module import random_flax_module
from numpyro.infer import MCMC
from sklearn.datasets import load_digits

from numpyro_sgmcmc import SGHMCSplit, tune


class Network(linen.Module):
    @linen.compact
    def __call__(self, x):
        hidden = jnp.tanh(linen.Dense(16)(x))
        return linen.Dense(10)(hidden)


def model(x, y):
    prior = dist.Normal(0.0, 0.5)
    network = random_flax_module("network", Network(), prior=prior, input_shape=(1, 64))
    with numpyro.plate("rows", x.shape[0], subsample_size=32) as rows:
        numpyro.sample("y", dist.Categorical(logits=network(x[rows])), obs=y[rows])


def accuracy(samples, x, y):
    """Share of digits that the mean over draws gets right."""

    def probabilities(draw):
        hidden = jnp.tanh(x @ draw["network/Dense_0.kernel"] + draw["network/Dense_0.bias"])
        logits = hidden @ draw["network/Dense_1.kernel"] + draw["network/Dense_1.bias"]
        return jax.nn.softmax(logits)

    return float((jax.vmap(probabilities)(samples).mean(0).argmax(-1) == y).mean())


@pytest.mark.release
def test_digits():
    images, labels = load_digits(return_X_y=True)
    x, y = jnp.asarray(images / 8 - 1, jnp.float32), jnp.asarray(labels)
    x, y, x_test, y_test = x[:1_200], y[:1_200], x[1_200:], y[1_200:]
    options = {"subsample_sizes": [64], "step_sizes": 10.0 ** np.arange(-4, 0.5)}
    found = tune(
        SGHMCSplit(model), jax.random.key(0), x, y, budget=1.5e6, unit="gradients", **options
    )
    mcmc = MCMC(found.kernel, num_warmup=1_000, num_samples=200, thinning=5, progress_bar=False)
    mcmc.run(jax.random.key(1), x, y)
    print(found.arms, accuracy(mcmc.get_samples(), x_test, y_test))
    assert np.isinf(found.arms["score"]).sum() < len(found.arms) / 2
    assert found.subsample_size == 64 and found.kernel.structure.plates["rows"] == (1_200, 64)
    assert accuracy(mcmc.get_samples(), x_test, y_test) > 0.85
