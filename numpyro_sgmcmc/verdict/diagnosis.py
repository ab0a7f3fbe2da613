"""The verdict on a finished run."""

from dataclasses import dataclass, field
from typing import final

import jax
import numpy as np
import pandas as pd

from numpyro_sgmcmc.correction import AbstractCorrection
from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.precision import full_precision
from numpyro_sgmcmc.running import Run
from numpyro_sgmcmc.verdict.assessment import Cause, Outcome, are_mixed, assessed, more_draws
from numpyro_sgmcmc.verdict.budget import rows_for_hessian, rows_worth_granting
from numpyro_sgmcmc.verdict.centring import badly_centred
from numpyro_sgmcmc.verdict.convergence import convergence, kinetic_temperature
from numpyro_sgmcmc.verdict.evidence import evidence_of, site_table
from numpyro_sgmcmc.verdict.findings import findings_of
from numpyro_sgmcmc.verdict.gradient_noise import noise_of, rows_enough
from numpyro_sgmcmc.verdict.predictions import Functions, predictions_of, values_of
from numpyro_sgmcmc.verdict.run import finished_run
from numpyro_sgmcmc.verdict.sentence import sentence_of


@final
@dataclass(frozen=True)
class Diagnosis:
    """What a run is worth.

    Attributes:
        calibrated: whether every reported mean and standard deviation is shown to be within the
            tolerances, and nothing else is wrong, as far as can be measured. Of coordinates with
            heavy tails these are the mean and standard deviation of their normal scores.
        sentence: the outcome in words: "Calibrated", "Not calibrated" or "Not known yet", with the
            cause and the number to use instead.
        sites: for each latent site, the worst of its entries: `ess_bulk`, `r_hat` (rank-normalised,
            ArviZ's, of at most 10,000 draws of a chain), and relative errors of the standard
            deviation by gradient noise (`noise_inflation`), by the step size (`discretisation`)
            and, if gradients were old, by their ages with the remedy in force (`staleness`), from
            theory with measured noise and curvature; `sd_error`, measured whatever the cause,
            and `mean_shift` in standard deviations, both on the unconstrained space and of
            the estimates that the run reports: extrapolated ones for Richardson-Romberg. Those of
            coordinates with heavy tails are on the scale of normal scores. NaN where not known.
        kinetic_temperature: mean of p . p / d over the draws, NaN without momentum.
        kinetic_temperature_error: its standard error.
        temperature: its target.
        diverged: share of diverged iterations.
        discrepancy: kernel Stein discrepancy of whitened draws, the finest walker's.
        p_value: of that discrepancy, by the wild bootstrap: small for a wrong posterior, or for
            draws that are far from independent.
        noise: largest eigenvalue V of the gradient noise in the preconditioner's coordinates.
        curvature: largest curvature there.
        step_size: mean step size, of the finest walker where there are several.
        more_draws: draws, in all chains together, that are expected to decide where the outcome is
            "Not known yet"; None otherwise, and where no number of draws would.
        predictions: the same of functions of the draws, by default log likelihoods and fitted
            values of up to 100 rows of each observed site: `ess_bulk` and `r_hat`, both of at most
            10,000 draws of a chain, and by theory `noise_inflation` and `discretisation`, NaN for
            functions that are not nearly linear, and bounds above 500 dimensions. None for a model
            without observed sites, and where all draws have the same values.
        predictions_mix: whether all of them have enough effective draws and a small R-hat, also
            where single parameters do not mix; None without any.
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
    more_draws: int | None
    predictions: pd.DataFrame | None
    predictions_mix: bool | None
    noise_covariance: AbstractCorrection | None = field(repr=False)

    def __str__(self) -> str:
        """Return the sentence and the tables."""
        tables = [table for table in (self.sites, self.predictions) if table is not None]
        return "\n\n".join([self.sentence, *map(_text, tables)])


def _text(table: pd.DataFrame) -> str:
    return table.to_string(float_format=lambda x: f"{x:.3g}")


@full_precision(always=True)
def diagnosis_of(run: Run, functions: Functions | None = None) -> Diagnosis:
    """Return the verdict on a finished run.

    What is judged are the estimates that the run reports: weighted, and extrapolated for
    Richardson-Romberg.

    Raises:
        ValueError: at temperature 0.
    """
    if run.options.temperature == 0:
        raise ValueError(
            "Expected a positive temperature, at which there is a posterior to judge; got 0, which"
            " makes a point estimate."
        )
    judged = finished_run(run)
    structure = run.structure
    sites = structure.sites()

    def site_of(at: int) -> str:
        return str(sites[at])

    key, key_noise, key_rows, key_again = random.keys_of(jax.random.key(0), 4)
    has_rows = judged.latents is None or bool(functions)  # else they depend on latents of rows
    are_finite = judged.has_finite_draws
    # It is measured while other programs are compiled: JAX returns before it has computed.
    noise = noise_of(judged, key_noise) if are_finite else None
    values = values_of(judged, functions or {}, key_rows) if has_rows and are_finite else {}
    mixing = convergence(run.draws, list(structure.prototype), judged.weights, judged.is_together)
    found = mixing.values()
    is_mixed = are_mixed([x.ess_bulk for x in found], [x.r_hat for x in found])
    judged = judged._replace(is_mixed=is_mixed)
    diverged = float(np.mean(np.asarray(run.statistics["diverging"])))
    granted = rows_for_hessian(judged, rows_enough(judged, noise))
    judged = judged._replace(granted_rows=granted)
    findings = findings_of(judged, key, sites, noise)
    predictions = predictions_of(judged, findings.predicted, values, functions or {})
    evidence = evidence_of(judged, findings, mixing, diverged, site_of, predictions)
    outcome, causes = assessed(evidence)
    if causes == [Cause.IMPRECISE]:
        more = more_draws(evidence, outcome, causes)
        granted = rows_worth_granting(judged, more) if more else 0
        if granted:
            judged = judged._replace(granted_rows=granted)
            findings = findings_of(judged, key_again, sites, noise, findings)
            evidence = evidence_of(judged, findings, mixing, diverged, site_of, predictions)
            outcome, causes = assessed(evidence)
    if outcome is not Outcome.CALIBRATED and are_finite:
        evidence = evidence._replace(centred=badly_centred(run))
    kinetic, error = kinetic_temperature(run.statistics)
    predicted = findings.predicted
    return Diagnosis(
        calibrated=outcome is Outcome.CALIBRATED,
        sentence=sentence_of(outcome, causes, evidence),
        sites=site_table(findings, mixing, site_of, judged.staleness is not None),
        kinetic_temperature=kinetic,
        kinetic_temperature_error=error,
        temperature=judged.temperature,
        diverged=diverged,
        discrepancy=findings.discrepancy,
        p_value=findings.p_value,
        noise=predicted.largest_noise,
        curvature=predicted.curvature,
        step_size=judged.walkers[0].step_size,
        more_draws=more_draws(evidence, outcome, causes),
        predictions=None if predictions is None else predictions.table,
        predictions_mix=None if predictions is None else predictions.mix,
        noise_covariance=predicted.correction,
    )
