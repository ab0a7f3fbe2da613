"""The curve by features beside its exact posterior: `python -m benchmarks.calibration.curve`.

Given amplitude, length scale and noise the weights are Gaussian, so that these three parameters
have a density in closed form, which is summed on a grid.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from numpyro.diagnostics import effective_sample_size
from numpyro.infer import MCMC

from benchmarks.calibration import data
from benchmarks.calibration.models.latent import FREQUENCY, curve_features
from benchmarks.calibration.problems import PROBLEMS
from numpyro_sgmcmc import SGHMCSplit, diagnose

AMPLITUDES = np.linspace(np.log(0.45), np.log(6.0), 90)
LENGTHS = np.linspace(np.log(0.12), np.log(0.5), 240)
NOISES = np.linspace(np.log(0.45), np.log(0.54), 41)
"""The grid, in logs; its ends hold less than 2e-6 of the probability."""

RUNS: dict[str, tuple[int | None, dict[str, Any]]] = {
    "nothing chosen": (500, {}),
    "corrected": (500, {"noise_correction": "dense"}),
    "all rows": (None, {}),
}
SAMPLES = 4_000


def exact() -> tuple[float, float]:
    """Return mean and standard deviation of the log length scale."""
    place, response = (np.asarray(x, np.float64) for x in data.gaussian_process())
    features = np.asarray(curve_features(place), np.float64)
    gram, projected = features.T @ features, features.T @ response
    square, count = response @ response, len(response)
    variance = np.exp(2 * NOISES)[:, None]
    frequency = np.asarray(FREQUENCY, np.float64)

    def log_density(amplitude: float, length: float) -> np.ndarray:
        """Return the log density of the logs, at each noise."""
        spectrum = np.sqrt(2 * np.pi) * length * np.exp(-((length * frequency) ** 2) / 2)
        scale = amplitude * np.sqrt(spectrum)
        values, axes = np.linalg.eigh(scale[:, None] * gram * scale)
        shrunk = 1 + np.maximum(values, 0) / variance
        fit = (axes.T @ (scale * projected)) / variance
        residual = square / variance[:, 0] - np.sum(fit**2 / shrunk, axis=1)
        likelihood = -count * NOISES - residual / 2 - np.sum(np.log(shrunk), axis=1) / 2
        prior = np.log(amplitude) - amplitude**2 / 2 - ((np.log(length) + 1) / 0.5) ** 2 / 2
        return likelihood + prior + NOISES - variance[:, 0] / 2

    logs = [[log_density(*np.exp((a, b))) for a in AMPLITUDES] for b in LENGTHS]
    weights = np.exp(np.array(logs) - np.max(logs)).sum((1, 2))
    weights /= weights.sum()
    mean = float(weights @ LENGTHS)
    return mean, float(np.sqrt(weights @ (LENGTHS - mean) ** 2))


class Found(NamedTuple):
    """A run's log length scale beside the exact one.

    Attributes:
        deviation: relative error of the standard deviation.
        deviation_error: its Monte Carlo standard error.
        mean: error of the mean, in exact standard deviations.
        mean_error: its Monte Carlo standard error.
        mcmc: the run.
    """

    deviation: float
    deviation_error: float
    mean: float
    mean_error: float
    mcmc: MCMC


def found(batch: int | None, options: dict[str, Any]) -> Found:
    """Return what a run with minibatches of this size shows; None is all rows."""
    problem = PROBLEMS["gaussian_process"]
    numpyro.enable_x64(problem.double)
    mean, deviation = exact()
    mcmc = MCMC(
        SGHMCSplit(partial(problem.model, subsample_size=batch), **options),
        num_warmup=1_000,
        num_samples=SAMPLES,
        num_chains=4,
        chain_method="vectorized",
        progress_bar=False,
    )
    mcmc.run(jax.random.key(5), *map(jnp.asarray, problem.arguments))
    draws = np.log(np.asarray(mcmc.get_samples(group_by_chain=True)["length"], np.float64))
    squares = (draws - draws.mean()) ** 2
    error = squares.std() / np.sqrt(effective_sample_size(squares)) / (2 * draws.var())
    return Found(
        float(draws.std() / deviation - 1),
        float(error),
        float((draws.mean() - mean) / deviation),
        float(1 / np.sqrt(effective_sample_size(draws))),
        mcmc,
    )


def main() -> None:
    """Print errors of the log length scale, with Monte Carlo errors, and the verdict."""
    print("log length scale, exact: {:.4f} ± {:.4f}".format(*exact()))
    for name, (batch, options) in RUNS.items():
        deviation, deviation_error, mean, mean_error, mcmc = found(batch, options)
        print(
            f"{name}: sd {deviation:+.1%} ± {deviation_error:.1%}, mean {mean:+.3f} ±"
            f" {mean_error:.3f} sd. {diagnose(mcmc).sentence}"
        )


if __name__ == "__main__":
    main()
