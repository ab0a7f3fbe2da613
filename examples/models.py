"""NumPyro models of the example data, with a plate over rows that can be subsampled."""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist


def late_arrival(
    features: jax.Array,
    carrier: jax.Array,
    origin: jax.Array,
    late: jax.Array | None = None,
    *,
    num_carriers: int,
    num_origins: int,
    subsample_size: int | None = None,
) -> None:
    """Logistic regression of late arrival with varying intercepts by carrier and origin.

    Each carrier has its own intercept, drawn around a common one, and each origin has an effect.
    Both have a scale that is estimated. The effects of the origins sum to zero, because otherwise
    a shift of all of them could be compensated by the intercepts. Both are in centred form, because
    hundreds of thousands of rows determine them much better than their scales do.

    ``num_carriers``, ``num_origins`` and ``subsample_size`` set shapes. Bind them with
    ``functools.partial``, so that they remain Python ints if the arguments are traced.

    Args:
        features: Standardised predictors, shape (rows, predictors).
        carrier: Position of each row's carrier, shape (rows,).
        origin: Position of each row's origin, shape (rows,).
        late: Whether each flight arrived late, shape (rows,), or None to draw it.
        num_carriers: Number of carriers.
        num_origins: Number of origins.
        subsample_size: Rows in one minibatch, or None for all rows.
    """
    intercept = numpyro.sample("intercept", dist.Normal(0.0, 2.0))
    coefficients = numpyro.sample(
        "coefficients", dist.Normal(0.0, 1.0).expand([features.shape[1]]).to_event(1)
    )
    carrier_scale = numpyro.sample("carrier_scale", dist.HalfNormal(0.5))
    origin_scale = numpyro.sample("origin_scale", dist.HalfNormal(0.5))
    carrier_intercept = numpyro.sample(
        "carrier_intercept",
        dist.Normal(intercept, carrier_scale).expand([num_carriers]).to_event(1),
    )
    origin_effect = numpyro.sample(
        "origin_effect", dist.ZeroSumNormal(origin_scale, (num_origins,))
    )
    with numpyro.plate("rows", features.shape[0], subsample_size=subsample_size) as index:
        logits = (
            carrier_intercept[jnp.asarray(carrier)[index]]
            + origin_effect[jnp.asarray(origin)[index]]
            + jnp.asarray(features)[index] @ coefficients
        )
        observed = None if late is None else jnp.asarray(late)[index]
        numpyro.sample("late", dist.Bernoulli(logits=logits), obs=observed)


def linear(
    features: jax.Array, response: jax.Array | None = None, *, subsample_size: int | None = None
) -> None:
    """Linear regression with an unknown noise scale.

    Args:
        features: Standardised predictors, shape (rows, predictors).
        response: Response, shape (rows,), or None to draw it.
        subsample_size: Rows in one minibatch, or None for all rows.
    """
    intercept = numpyro.sample("intercept", dist.Normal(0.0, 10.0))
    coefficients = numpyro.sample(
        "coefficients", dist.Normal(0.0, 1.0).expand([features.shape[1]]).to_event(1)
    )
    noise = numpyro.sample("noise", dist.HalfNormal(1.0))
    with numpyro.plate("rows", features.shape[0], subsample_size=subsample_size) as index:
        mean = intercept + jnp.asarray(features)[index] @ coefficients
        observed = None if response is None else jnp.asarray(response)[index]
        numpyro.sample("response", dist.Normal(mean, noise), obs=observed)
