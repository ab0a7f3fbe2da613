"""Run a kernel without tuning, and compare it with the reference."""

import time
import warnings
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.infer import MCMC

import numpyro_sgmcmc
from benchmarks.calibration import references
from benchmarks.calibration.compare import SMALLEST_ESS, Z, compare, law, scalars
from benchmarks.calibration.problems import PROBLEMS, Problem
from numpyro_sgmcmc import SGHMCSplit

LOG_SCORE_BOUND = 0.005
"""Nats a held-out row."""

RMSE_BOUND = 0.005
"""Relative to the reference's."""

WRONG = "WRONG AND NOT FLAGGED"

Row = dict[str, Any]


class Fit(NamedTuple):
    """A run, what it took, and what it warned of."""

    mcmc: MCMC
    warmup_seconds: float
    sampling_seconds: float
    warned: list[str]


def fit(problem: Problem, seed: int = 0) -> Fit:
    """Run four vectorised chains with nothing chosen by hand."""
    kernel = SGHMCSplit(partial(problem.model, subsample_size=problem.batch))
    mcmc = MCMC(
        kernel,
        num_warmup=1_000,
        num_samples=2_000,
        num_chains=4,
        chain_method="vectorized",
        jit_model_args=True,
        progress_bar=False,
    )
    arguments = tuple(map(jnp.asarray, problem.arguments))
    times = [time.perf_counter()]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        for run, key in zip((mcmc.warmup, mcmc.run), _keys(seed), strict=True):
            run(key, *arguments)
            jax.block_until_ready(mcmc.last_state)
            times.append(time.perf_counter())
    warned = [str(one.message) for one in caught if issubclass(one.category, UserWarning)]
    warmup, sampling = np.diff(times).tolist()
    return Fit(mcmc, warmup, sampling, warned)


def measure(name: str) -> Row:
    """Run a model and return a row of the table."""
    problem = PROBLEMS[name]
    reference = references.load(problem.reference)
    run = fit(problem)
    samples = run.mcmc.get_samples(group_by_chain=True)
    if problem.predict is None:
        compared = compare(law(scalars(samples, problem.labels())), reference)
        right = compared.too_far == 0
        heldout: dict[str, float] = {}
    else:
        found = references.predicted(problem, samples)
        compared = compare(found, reference)
        heldout = _held_out(found, reference)
        # The functionals are shown, the scores decide: a log likelihood adds up small errors of
        # thousands of parameters, and may be many of its own standard deviations off at no harm.
        right = all(abs(heldout[key]) <= heldout[f"{key}_bound"] for key in ("log_score", "rmse"))
    right = right and compared.smallest_ess >= SMALLEST_ESS
    calibrated, sentence = verdict(run.mcmc)
    state = jax.device_get(run.mcmc.last_state)
    adaptation = run.mcmc.sampler.adaptation
    return {
        "name": name,
        "title": problem.title,
        "batch": problem.batch,
        **compared._asdict(),
        **{f"held_out_{key}": value for key, value in heldout.items()},
        "warmup_seconds": run.warmup_seconds,
        "sampling_seconds": run.sampling_seconds,
        "step_size": float(np.ravel(state.step_size)[0]),
        "gradient": type(adaptation.gradient).__name__,
        "diverged": int(np.sum(state.num_diverging)),
        "warnings": run.warned,
        "calibrated": calibrated,
        "verdict": sentence,
        "right": right,
        "outcome": outcome(right, calibrated),
    }


def verdict(mcmc: MCMC) -> tuple[bool | None, str]:
    """Return what the library says of the run: None before it could say anything."""
    diagnose = getattr(numpyro_sgmcmc, "diagnose", None)
    if diagnose is None:
        return None, "none"
    said = diagnose(mcmc)
    return bool(said.calibrated), str(said.sentence)


def outcome(right: bool, calibrated: bool | None) -> str:
    """Return how the run and its verdict fit together; only a trusted wrong answer is a failure."""
    if right:
        return "right, but flagged" if calibrated is False else "right"
    return "wrong, and flagged" if calibrated is False else WRONG


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


def _keys(seed: int) -> jax.Array:
    return jax.random.split(jax.random.key(seed))
