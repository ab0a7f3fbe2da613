"""The logistic regression that most figures are about, and its data."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

DIMENSION = 54
BATCH = 100
ROWS = 1_000_000
AT_ONCE = 100_000

Data = tuple[jax.Array, jax.Array]


def model(features: jax.Array, response: jax.Array, batch: int = BATCH) -> None:
    """Logistic regression with a subsampled plate."""
    weights = _weights(features.shape[1])
    with numpyro.plate("rows", len(features), subsample_size=batch) as index:
        logits = features[index] @ weights
        numpyro.sample("response", dist.Bernoulli(logits=logits), obs=response[index])


def whole_model(features: jax.Array, response: jax.Array) -> None:
    """Regression on all rows, as it is written for NUTS: without a gather."""
    logits = features @ _weights(features.shape[1])
    with numpyro.plate("rows", len(features)):
        numpyro.sample("response", dist.Bernoulli(logits=logits), obs=response)


def _weights(columns: int) -> jax.Array:
    return numpyro.sample("weights", dist.Normal(0.0, 1.0).expand([columns]).to_event(1))


def simulate(rows: int = ROWS, columns: int = DIMENSION, mixing: np.ndarray | None = None) -> Data:
    """Return features ~ N(0, mixing' mixing) and a binary response.

    NumPy draws them block by block, so that no more memory is touched than they take.
    """
    rng = np.random.default_rng(0)
    truth = rng.normal(size=columns).astype(np.float32) / np.float32(columns**0.5)
    features = np.empty((rows, columns), np.float32)
    response = np.empty(rows, np.float32)
    for begin in range(0, rows, AT_ONCE):
        block = slice(begin, min(begin + AT_ONCE, rows))
        drawn = rng.standard_normal((block.stop - begin, columns), np.float32)
        features[block] = drawn if mixing is None else drawn @ mixing.astype(np.float32)
        chance = 1 / (1 + np.exp(-features[block] @ truth))
        response[block] = rng.random(block.stop - begin) < chance
    return jnp.asarray(features), jnp.asarray(response)


def potential(weights: jax.Array, x: jax.Array, y: jax.Array, scale: float) -> jax.Array:
    """Return the model's potential by hand, likelihood times `scale`."""
    logits = x @ weights
    log_likelihood = jnp.sum(y * logits - jax.nn.softplus(logits))
    return 0.5 * jnp.sum(weights**2) - scale * log_likelihood


gradient: Callable[..., jax.Array] = jax.grad(potential)
