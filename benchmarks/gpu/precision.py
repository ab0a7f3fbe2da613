"""A regression whose posterior is known, with products of all digits and of TF32.

y_i ~ N(x_i' beta, 1), beta_j ~ N(0, 1): the posterior is normal.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC

from numpyro_sgmcmc import SGHMCSplit, diagnose

COLUMNS, BATCH = 20, 1_000
ROWS = 1_000_000
CHAINS, WARMUP, DRAWS = 4, 1_000, 2_000


def model(x: jax.Array, y: jax.Array, batch: int = BATCH) -> None:
    """The regression."""
    beta = numpyro.sample("beta", dist.Normal(0.0, 1.0).expand([x.shape[1]]).to_event(1))
    with numpyro.plate("rows", len(x), subsample_size=batch) as rows:
        numpyro.sample("y", dist.Normal(x[rows] @ beta, 1.0), obs=y[rows])


def simulate(rows: int = ROWS) -> tuple[np.ndarray, np.ndarray]:
    """Return features and responses, whose coefficients are N(0, 1)."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((rows, COLUMNS), np.float32)
    truth = rng.standard_normal(COLUMNS)
    return x, (x @ truth + rng.standard_normal(rows)).astype(np.float32)


def exact(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the posterior's means and standard deviations, in double precision."""
    x = x.astype(np.float64)
    covariance = np.linalg.inv(x.T @ x + np.eye(COLUMNS))
    return covariance @ (x.T @ y), np.sqrt(np.diag(covariance))


def measured() -> list[dict[str, Any]]:
    """Return errors of means and standard deviations by precision, in posterior sds."""
    x, y = simulate()
    mean, sd = exact(x, y)
    data = jnp.asarray(x), jnp.asarray(y)
    return [_errors(name, data, mean, sd) for name in (None, "tensorfloat32")]


def _errors(name: str | None, data: tuple, mean: np.ndarray, sd: np.ndarray) -> dict[str, Any]:
    with jax.default_matmul_precision(name):
        kernel = SGHMCSplit(model)
        mcmc = MCMC(
            kernel,
            num_warmup=WARMUP,
            num_samples=DRAWS,
            num_chains=CHAINS,
            chain_method="vectorized",
            progress_bar=False,
        )
        mcmc.run(jax.random.key(0), *data)
        draws = np.asarray(mcmc.get_samples()["beta"], np.float64)
        verdict = diagnose(mcmc)
    return {
        "precision": name or "all digits",
        "mean_error": float(np.abs((draws.mean(0) - mean) / sd).max()),
        "sd_error": float(np.abs(draws.std(0) / sd - 1).max()),
        "calibrated": bool(verdict.calibrated),
        "sentence": verdict.sentence,
    }
