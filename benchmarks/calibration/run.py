"""Compare a run without tuning with the reference."""

from typing import Any

import jax
import numpy as np
import numpyro

from benchmarks.calibration import references
from benchmarks.calibration.agreement import Agreement, agreement
from benchmarks.calibration.compare import SMALLEST_ESS, Z, compare, law, scalars
from benchmarks.calibration.fit import SHORTEST_BUDGET, fit
from benchmarks.calibration.problems import PROBLEMS

LOG_SCORE_BOUND = 0.005
"""Nats a held-out row."""

RMSE_BOUND = 0.005
"""Relative to the reference's."""

WRONG = "WRONG AND NOT FLAGGED"

Row = dict[str, Any]


def measure(name: str) -> Row:
    """Run a model and return a row of the table."""
    problem = PROBLEMS[name]
    numpyro.enable_x64(problem.double)
    reference = references.load(problem.reference)
    run = fit(problem, max(SHORTEST_BUDGET, reference.get("seconds", 0.0)))
    samples = run.mcmc.get_samples(group_by_chain=True)
    if problem.predict is None:
        found = law(scalars(samples, problem.labels(), problem.places))
        compared = compare(found, reference)
        right = compared.too_far == 0
        heldout: dict[str, float] = {}
    else:
        found = references.predicted(problem, samples)
        compared = compare(found, reference)
        heldout = _held_out(found, reference)
        # The functionals are shown, the scores decide: a log likelihood adds up small errors of
        # thousands of parameters, and may be many of its own standard deviations off at no harm.
        right = all(abs(heldout[key]) <= heldout[f"{key}_bound"] for key in ("log_score", "rmse"))
    near: Agreement | None = None
    if "probabilities" in found:
        near = agreement(*(np.array(one["probabilities"]) for one in (found, reference)))
        right = right and near.is_close
    right = right and compared.smallest_ess >= SMALLEST_ESS
    # Where predictions are compared, predictions are what the library is asked about.
    said = run.said.calibrated if problem.predict is None else bool(run.said.predictions_mix)
    state = jax.device_get(run.mcmc.last_state)
    total = sum(run.seconds.values())
    return {
        "name": name,
        "title": problem.title,
        "batch": problem.batch,
        **compared._asdict(),
        **{f"held_out_{key}": value for key, value in heldout.items()},
        **(near._asdict() if near else {}),
        **{f"{phase}_seconds": seconds for phase, seconds in run.seconds.items()},
        "total_seconds": total,
        "rounds": run.rounds,
        "verdict_share": run.verdict_share,
        "draws": run.mcmc.num_chains * run.mcmc.num_samples,
        "effective_per_second": compared.smallest_ess / total,
        "nuts_seconds": reference.get("seconds"),
        "nuts_smallest_ess": reference.get("smallest_ess"),
        "nuts_form": reference.get("form"),
        "step_size": float(np.ravel(state.step_size)[0]),
        "gradient": type(run.mcmc.sampler.adaptation.gradient).__name__,
        "diverged": int(np.sum(state.num_diverging)),
        "warnings": run.warned,
        "calibrated": bool(said),
        "verdict": str(run.said.sentence),
        "right": right,
        "outcome": outcome(right, said),
    }


def outcome(right: bool, calibrated: bool) -> str:
    """Return how the run and its verdict fit together; only a trusted wrong answer is a failure."""
    if right:
        return "right" if calibrated else "right, but flagged"
    return WRONG if calibrated else "wrong, and flagged"


def _held_out(found: Row, reference: Row) -> dict[str, float]:
    """Return distances of scores from the reference's, and what they may be."""
    result = {"rmse": 0.0, "rmse_bound": 0.0}
    scales = {"log_score": (LOG_SCORE_BOUND, 1.0)}
    if "rmse" in reference:
        scales["rmse"] = (RMSE_BOUND, reference["rmse"]["value"])
    for key, (bound, unit) in scales.items():
        ours, theirs = found[key], reference[key]
        error = np.hypot(ours["mcse"], theirs["mcse"]) / unit
        result[key] = (ours["value"] - theirs["value"]) / unit
        result[f"{key}_bound"] = bound + Z * float(error)
    return result
