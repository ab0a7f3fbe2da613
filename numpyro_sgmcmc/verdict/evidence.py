"""From errors by coordinate to what a verdict says of sites."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from numpyro_sgmcmc.preparation import TOLERANCE
from numpyro_sgmcmc.preparation.latents import can_have_table
from numpyro_sgmcmc.verdict.apart import chains_apart
from numpyro_sgmcmc.verdict.assessment import Ages, Evidence, largest_sound_step
from numpyro_sgmcmc.verdict.bounds import (
    FACTORS,
    as_given,
    factor_needed,
    largest_bias,
    worst_pair,
)
from numpyro_sgmcmc.verdict.budget import growth_of_points, most_points
from numpyro_sgmcmc.verdict.convergence import Convergence
from numpyro_sgmcmc.verdict.errors import as_sd
from numpyro_sgmcmc.verdict.findings import Findings
from numpyro_sgmcmc.verdict.predictions import Predictions
from numpyro_sgmcmc.verdict.run import FinishedRun
from numpyro_sgmcmc.verdict.unvisited import unvisited_mode

NameOf = Callable[[int], str]

TOGETHER = "a direction in which coordinates vary together"
SCORED = " (on the scale of normal scores, because its tails are heavy)"


def evidence_of(
    run: FinishedRun,
    findings: Findings,
    mixing: dict[str, Convergence],
    diverged: float,
    site_of: NameOf,
    predictions: Predictions | None,
) -> Evidence:
    """Return what the outcome and its sentence depend on."""
    dimension = len(findings.predicted.noise)

    unseen = findings.unseen

    def name_of(at: int) -> str:
        return repr(site_of(at)) if at < dimension else TOGETHER

    def judged_name_of(at: int) -> str:
        is_scored = unseen is not None and unseen[at] > 0
        return name_of(at) + (SCORED if is_scored else "")

    by_noise = as_sd(findings.predicted.noise)
    if not run.has_known_noise:  # one minibatch's noise undoes a part of another's
        by_noise = np.zeros(dimension)
    by_step = as_sd(findings.predicted.discretisation)
    by_age = as_sd(findings.predicted.staleness)
    further = np.zeros(len(findings.variance.together.value) - dimension)
    least = min(mixing, key=lambda name: _or(mixing[name].ess_bulk, -np.inf))
    most = max(mixing, key=lambda name: _or(mixing[name].r_hat, np.inf))
    unchecked, broken = findings.unchecked, findings.broken
    time = run.weights.size / float(np.median([_or(x.ess_bulk, 1.0) for x in mixing.values()]))
    return Evidence(
        diverged=diverged,
        step_size=run.step_size,
        largest_step_size=_largest_step_size(run, findings.predicted.curvature),
        noise=_worst(by_noise, site_of),
        discretisation=_worst(by_step, site_of),
        sd=worst_pair(findings.variance, findings.batches, judged_name_of, as_sd),
        largest_sd_bias=largest_bias(findings.variance.together, findings.batches),
        mean=worst_pair(findings.mean, findings.batches, judged_name_of, as_given),
        ess=(least, mixing[least].ess_bulk),
        r_hat=(most, mixing[most].r_hat),
        draws=run.weights.size,
        factor=factor_needed(
            findings.variance.together,
            findings.mean.together,
            np.concatenate([by_noise + by_step + by_age, further]),
            findings.batches,
            lambda factor: growth_of_points(run, factor, time),
        ),
        points=most_points(run, FACTORS[-1] * run.weights.size),
        passes=run.weights.size * run.rows_of_draw / run.rows / mixing[least].ess_bulk,
        seconds=run.seconds_of_draw,
        plates=run.target.structure.plates,
        has_plain_gradient=not run.gradient.is_control_variate,
        has_correction=run.tuned.correction is not None,
        dimension=dimension,
        temperature=run.temperature,
        is_extrapolated=len(run.walkers) > 1,
        unchecked=None
        if unchecked is None
        else ("some site" if unchecked[0] is None else name_of(unchecked[0]), unchecked[1]),
        predictions=predictions,
        ages=_ages(run, by_age, site_of),
        unvisited=unvisited_mode(run, site_of),
        apart=chains_apart(run.walkers[0].draws, site_of),
        suits_predictions=run.suits_predictions,
        has_latents=run.latents is not None,
        can_be_tuned=run.latents is None or can_have_table(run.target.structure),
        heavy=_heaviest(unseen, dimension, site_of),
        broken=None if broken is None else (site_of(broken[0]), broken[1]),
        still=run.still,
        chains=len(run.weights),
    )


def _heaviest(
    unseen: np.ndarray | None, dimension: int, site_of: NameOf
) -> tuple[str, float] | None:
    """Return the site with heavy tails whose own standard deviation is known worst, and how well.

    None where there is no such site.
    """
    if unseen is None or not np.any(unseen[:dimension]):
        return None
    at = int(np.argmax(unseen[:dimension]))
    return site_of(at), float(unseen[at])


def _ages(run: FinishedRun, by_age: np.ndarray, site_of: NameOf) -> Ages | None:
    if run.staleness is None:
        return None
    return Ages(run.staleness.delay.mean, run.staleness.remedy, *_worst(by_age, site_of))


def site_table(
    findings: Findings, mixing: dict[str, Convergence], site_of: NameOf, is_stale: bool
) -> pd.DataFrame:
    """Return for each site the worst of its coordinates."""
    dimension = len(findings.predicted.noise)
    names = np.array([site_of(at) for at in range(dimension)])
    columns: dict[str, Any] = {
        "noise_inflation": as_sd(findings.predicted.noise),
        "discretisation": as_sd(findings.predicted.discretisation),
        **({"staleness": as_sd(findings.predicted.staleness)} if is_stale else {}),
        "sd_error": as_sd(findings.variance.together.value[:dimension]),
        "mean_shift": findings.mean.together.value[:dimension],
    }
    rows = {
        name: mixing[name]._asdict() | {k: _largest(v[names == name]) for k, v in columns.items()}
        for name in mixing
    }
    return pd.DataFrame.from_dict(rows, orient="index")


def _largest_step_size(run: FinishedRun, curvature: float) -> float:
    """Return the largest sound step of the coarsest walker, infinite where it is not known."""
    if not np.isfinite(curvature):
        return float("inf")
    tolerance = TOLERANCE / 2
    suggested = float(run.dynamics.largest_step_size(curvature, tolerance))
    return largest_sound_step(suggested, run.dynamics.order, run.levels, tolerance)


def _worst(errors: np.ndarray, site_of: NameOf) -> tuple[str, float]:
    if np.isnan(errors).all():
        return "", float("nan")
    at = int(np.nanargmax(np.abs(errors)))
    return site_of(at), float(errors[at])


def _largest(values: np.ndarray) -> float:
    """Return the value of largest modulus; NaN where any is not known."""
    if not values.size or np.isnan(values).any():
        return float("nan")
    return float(values[np.argmax(np.abs(values))])


def _or(value: float, otherwise: float) -> float:
    return otherwise if np.isnan(value) else value
