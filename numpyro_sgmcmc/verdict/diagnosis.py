"""The verdict on a finished run."""

from dataclasses import dataclass, field
from typing import Any, final

import arviz as az
import jax
import numpy as np
import pandas as pd

from numpyro_sgmcmc.correction import AbstractCorrection
from numpyro_sgmcmc.gradient import Plain
from numpyro_sgmcmc.preparation import TOLERANCE
from numpyro_sgmcmc.running import Run as Finished
from numpyro_sgmcmc.verdict.draws import unconstrained
from numpyro_sgmcmc.verdict.measured import Measured, Run, measure, run_of
from numpyro_sgmcmc.verdict.sentence import Found, judged


@final
@dataclass(frozen=True)
class Diagnosis:
    """What a run is worth.

    Attributes:
        calibrated: whether nothing is wrong with it, as far as can be measured.
        sentence: so in words, or what is wrong, and the number to use instead.
        sites: for each latent site, the worst of its entries: `ess_bulk`, `r_hat` (rank-normalised,
            ArviZ's), and relative errors of the standard deviation by gradient noise
            (`noise_inflation`) and by the step size (`discretisation`), from theory with measured
            noise and curvature; `sd_error`, measured whatever the cause, and `mean_shift` in
            standard deviations, both on the unconstrained space. NaN where not known.
        kinetic_temperature: mean of p . p / d over the draws, NaN without momentum.
        kinetic_temperature_error: its standard error.
        temperature: its target.
        diverged: share of diverged iterations.
        discrepancy: kernel Stein discrepancy of whitened draws.
        p_value: of that discrepancy, by the wild bootstrap: small for a wrong posterior, or for
            draws that are far from independent.
        noise: largest eigenvalue V of the gradient noise in the preconditioner's coordinates.
        curvature: largest curvature there.
        step_size: mean step size.
        noise_covariance: V by its eigenvalues and axes (above 500 dimensions its diagonal), None
            where there is none to measure.
    """

    calibrated: bool
    sentence: str
    sites: pd.DataFrame
    kinetic_temperature: float
    kinetic_temperature_error: float
    temperature: float
    diverged: float
    discrepancy: float
    p_value: float
    noise: float
    curvature: float
    step_size: float
    noise_covariance: AbstractCorrection | None = field(repr=False)

    def __str__(self) -> str:
        """Return the sentence and the table."""
        return f"{self.sentence}\n\n{self.sites.to_string(float_format=lambda x: f'{x:.3g}')}"


def diagnosis_of(finished: Finished) -> Diagnosis:
    """Return the verdict on a finished run.

    Raises:
        ValueError: at temperature 0.
    """
    kernel, options = finished.kernel, finished.options
    if options.temperature == 0:
        raise ValueError(
            "Expected a positive temperature, at which there is a posterior to judge; got 0, which"
            " makes a point estimate."
        )
    structure = finished.structure
    posterior, stats, state = finished.draws, finished.statistics, finished.state
    sites = {name: np.asarray(posterior[name]) for name in structure.prototype}
    weights = np.asarray(stats["weight"], np.float64)
    rows = {n: v.reshape(-1, *v.shape[2:]) for n, v in sites.items()}
    flat = unconstrained(finished.target, rows)
    draws = flat.reshape(*weights.shape, -1)
    run = run_of(finished, draws, weights, np.asarray(stats["step_size"], np.float64))
    if kernel.levels > 1:
        run = run._replace(step_size=run.step_size / 2 ** (kernel.levels - 1))
        measured = _extrapolated(measure(run, jax.random.key(0)), kernel.levels)
    else:
        measured = measure(run, jax.random.key(0))
    together = options.minibatch.is_shared and np.ndim(state.i) == 1
    ess, r_hat = _convergence(posterior, list(sites), together)
    table = _table(structure, measured, ess, r_hat)
    diverged = float(np.mean(np.asarray(stats["diverging"])))
    least = np.array([ess[name] for name in table.index])
    # Relative standard errors of a standard deviation, and of a mean in standard deviations.
    noise_counts = options.minibatch.is_independent
    found = Found(
        diverged=diverged,
        step_size=run.step_size,
        largest_step_size=_largest_step_size(run, measured),
        noise=_worst(table["noise_inflation"] if noise_counts else 0 * table["r_hat"]),
        discretisation=_worst(table["discretisation"]),
        inflation=_worst_with_error(table["sd_error"], 1 / np.sqrt(2 * least)),
        shift=_worst_with_error(table["mean_shift"], 1 / np.sqrt(least)),
        ess=(str(table.index[least.argmin()]), float(least.min())),
        r_hat=_worst(table["r_hat"]),
        draws=weights.size,
        batches=structure.plates,
        is_plain=isinstance(run.gradient, Plain),
        is_known=bool(np.all(np.isfinite(table["mean_shift"]))),
    )
    calibrated, sentence = judged(found)
    kinetic, error = _kinetic_temperature(stats)
    return Diagnosis(
        calibrated,
        sentence,
        table,
        kinetic,
        error,
        run.temperature,
        diverged,
        measured.discrepancy,
        measured.p_value,
        measured.noise,
        measured.curvature,
        run.step_size,
        measured.noise_covariance,
    )


def _largest_step_size(run: Run, measured: Measured) -> float:
    if not np.isfinite(measured.curvature):
        return np.inf
    return float(run.dynamics.largest_step_size(measured.curvature, TOLERANCE / 2))


def _table(structure: Any, measured: Measured, ess: dict, r_hat: dict) -> pd.DataFrame:
    dimension = len(measured.inflation)
    places = structure.unravel(np.arange(dimension, dtype=np.float32))
    rows = {}
    for name, where in places.items():
        at = np.asarray(where, int).reshape(-1)
        rows[name] = {
            "ess_bulk": ess[name],
            "r_hat": r_hat[name],
            "noise_inflation": _largest(_as_sd(measured.noise_inflation[at])),
            "discretisation": _largest(_as_sd(measured.discretisation[at])),
            "sd_error": _largest(_as_sd(measured.inflation[at])),
            "mean_shift": _largest(measured.shift[at]),
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def _as_sd(variance_error: np.ndarray) -> np.ndarray:
    return np.sqrt(np.maximum(1 + variance_error, 0.0)) - 1


def _largest(values: np.ndarray) -> float:
    """Return the value of largest modulus; NaN where any is not known."""
    if not values.size or np.isnan(values).any():
        return np.nan
    return float(values[np.argmax(np.abs(values))])


def _worst(column: Any) -> tuple[str, float]:
    values = np.asarray(column, np.float64)
    if np.isnan(values).all():
        return "", float("nan")
    at = int(np.nanargmax(np.abs(values)))
    return str(column.index[at]), float(values[at])


def _worst_with_error(column: Any, errors: np.ndarray) -> tuple[str, float, float]:
    values = np.asarray(column, np.float64)
    at = int(np.argmax(np.where(np.isnan(values), np.inf, np.abs(values) / errors)))
    return str(column.index[at]), float(values[at]), float(errors[at])


def _extrapolated(measured: Measured, levels: int) -> Measured:
    """Return what extrapolation leaves of the finest walker's errors.

    With x = h lambda / 2, a variance is 1 / (1 - x) times too large. Of the series x + x^2 + ...,
    two levels leave -x^2 / 2 and three x^3 / 8; in terms of the finest walker's own error e, which
    is x / 2 or x / 4, that is 2 e^2 and 8 e^3. The largest step size is a bound on that error too.
    """

    def left(error: np.ndarray) -> np.ndarray:
        return 2.0 ** (levels * (levels - 1) // 2) * np.abs(error) ** levels

    return measured._replace(
        noise_inflation=left(measured.noise_inflation),
        discretisation=left(measured.discretisation),
        inflation=left(measured.inflation),
        curvature=np.nan,
    )


def _convergence(posterior: Any, names: list[str], together: bool) -> tuple[dict, dict]:
    """Return each site's smallest effective sample size and largest R-hat, by ArviZ.

    Chains that go together, on shared minibatches, are not independent: see `_effective`.
    """
    ess, r_hat = {}, {}
    for name in names:
        array = np.asarray(posterior[name], np.float64)
        columns = array.reshape(*array.shape[:2], -1)
        each = [_one(columns[..., i], together) for i in range(columns.shape[-1])]
        ess[name] = min(one[0] for one in each) if each else np.nan
        r_hat[name] = max(one[1] for one in each) if each else np.nan
    return ess, r_hat


def _one(draws: np.ndarray, together: bool) -> tuple[float, float]:
    # Entries that the support fixes (a Cholesky factor's upper triangle) do not move at all.
    if np.ptp(draws) == 0:
        return np.inf, 1.0
    # ArviZ divides by the variance within chains, which is 0 where every chain is stuck.
    with np.errstate(divide="ignore", invalid="ignore"):
        ess, r_hat = az.ess(draws), az.rhat(draws)
        ess = _effective(draws) if together else float(np.asarray(ess))
    return ess, float(np.asarray(r_hat))


def _effective(draws: np.ndarray) -> float:
    """Return how many independent draws have a mean as precise as that of dependent chains.

    The mean over chains, at each iteration, is one series: its variance holds whatever the chains
    have in common.
    """
    mean = draws.mean(0)
    alone = float(np.asarray(az.ess(mean[None], method="mean")))
    return alone * draws.var() / mean.var()


def _kinetic_temperature(stats: Any) -> tuple[float, float]:
    if "kinetic_temperature" not in stats:
        return float("nan"), float("nan")
    draws = np.asarray(stats["kinetic_temperature"], np.float64)
    ess = float(np.asarray(az.ess(draws, method="mean")))
    return float(draws.mean()), float(draws.std() / np.sqrt(max(ess, 1.0)))
