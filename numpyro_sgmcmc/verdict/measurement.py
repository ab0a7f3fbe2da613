"""Errors of a run's reported means and standard deviations, measured by the model's gradients."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.preparation import groups_of
from numpyro_sgmcmc.verdict.batches import Batches
from numpyro_sgmcmc.verdict.budget import is_dense, most_points, most_rows
from numpyro_sgmcmc.verdict.control_variates import asked_moments, chosen, ratio_moments
from numpyro_sgmcmc.verdict.draws import gradients
from numpyro_sgmcmc.verdict.errors import Errors
from numpyro_sgmcmc.verdict.fields import Fields, coupled_fields, dense_fields
from numpyro_sgmcmc.verdict.run import FinishedRun
from numpyro_sgmcmc.verdict.thresholds import (
    EXPLAINED,
)
from numpyro_sgmcmc.verdict.with_latents import marginal_gradients


class Sample(NamedTuple):
    """Draws with the gradients of U / T there, and the moments of all draws.

    Attributes:
        places: which of the flattened draws these are, (n,).
        draws: about `mean`, (n, d + k), with k further functions of the position.
        gradients: (n, d).
        mean: weighted, of all draws, (d + k,).
        scale: standard deviations of all draws, (d + k,).
        further: coefficients of the further functions, linear ones, (d, k).
        gap: differences of the gradients that tell their bias, (n, d); None where they have none.
    """

    places: np.ndarray
    draws: np.ndarray
    gradients: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    further: np.ndarray
    gap: np.ndarray | None = None


class Measured(NamedTuple):
    """What the gradients at the draws say.

    Attributes:
        variance: errors of the reported variances.
        mean: errors of the reported means.
        samples: of each walker.
        fields: of each walker.
        mean_explained: share of the finest walker's variation that the gradients explain, (d,).
    """

    variance: Errors
    mean: Errors
    samples: list[Sample]
    fields: list[Fields]
    mean_explained: np.ndarray


def samples_of(run: FinishedRun, key: jax.Array) -> list[Sample]:
    """Return some draws of each walker, the same ones, with the gradients there."""
    count, dimension = run.weights.size, run.walkers[0].draws.shape[2]
    places = spread(count, most_points(run, count))
    rows = most_rows(run, count)
    dtype = jnp.result_type(*jax.tree.leaves(run.target.structure.prototype))
    weights = run.weights.reshape(-1) / run.weights.sum()
    found, centre = [], None
    for walker, key_walker in zip(
        run.walkers, jax.random.split(key, len(run.walkers)), strict=True
    ):
        flat = walker.draws.reshape(count, dimension)
        mean = weights @ flat
        centre = jnp.asarray(mean, dtype) if centre is None else centre
        points = jnp.asarray(flat[places], dtype)
        if run.latents is None:
            slopes, gap = gradients(run.target, key_walker, points, centre, rows), None
        else:
            given = run.target, key_walker, points, centre, run.latents.latents, rows
            slopes, gap = marginal_gradients(*given)
        scale = np.sqrt(weights @ (flat - mean) ** 2)
        some, nothing = flat[places] - mean, np.zeros((dimension, 0))
        slopes = slopes / run.temperature
        found.append(Sample(places, some, slopes, mean, scale, nothing, gap))
    return found


def measured(run: FinishedRun, samples: list[Sample], batches: Batches) -> Measured:
    """Return the errors of the means and variances that a run reports.

    Each coordinate's moments are compared with those that Stein's identity asks for, for each
    walker: by `asked_moments` where the gradients explain nearly all of the draws' variation, so
    that it is nearly exact, else by `ratio_moments`. What is reported is the sum of the walkers'
    averages times their coefficients, and so is its error.
    """
    weights = run.weights.reshape(-1) / run.weights.sum()
    fields = [
        _fields(run, walker.draws, sample, weights) for walker, sample in _pairs(run, samples)
    ]
    centre = sum(w.coefficient * s.mean for w, s in _pairs(run, samples))
    totals: dict[str, Any] = dict.fromkeys(("asked", "square", "mean", "spread"), 0.0)
    series: dict[str, Any] = dict.fromkeys(("mean", "mean_asked", "square", "square_asked"), 0.0)
    unit = samples[0].scale
    explained: list[np.ndarray] = []
    for (walker, sample), field in zip(_pairs(run, samples), fields, strict=True):
        c, scale = walker.coefficient, sample.scale
        own = weights[sample.places]
        x = sample.draws / scale
        inputs = x, field.along(sample.gradients, sample.further) * scale, own / own.sum()
        asked = asked_moments(*inputs)
        explained += [asked.explained, asked.mean_explained]
        asked = chosen(asked, ratio_moments(*inputs), explained[0] >= EXPLAINED)
        flat = (walker.draws.reshape(len(weights), -1) - sample.mean) / scale
        ratio = scale / unit
        totals["mean"] += c * ratio * asked.mean
        totals["asked"] += c * ratio**2 * (asked.square - asked.mean**2)
        totals["square"] += c * ratio**2
        totals["spread"] += c * ((sample.mean - centre) / unit) ** 2
        series["mean"] += c * ratio * batches.means(flat)
        series["mean_asked"] += c * ratio * batches.means(asked.mean_residual, sample.places)
        series["square"] += c * ratio**2 * batches.means(flat**2 - 1)
        series["square_asked"] += c * ratio**2 * batches.means(asked.square_residual, sample.places)
    with np.errstate(all="ignore"):
        asked_variance = np.where(totals["asked"] > 0, totals["asked"], np.nan)
        sd = np.sqrt(asked_variance)
        reported = totals["square"] + totals["spread"]
        own_square = (series["square"] - series["square_asked"]) / asked_variance
        variance = Errors(
            reported / asked_variance - 1,
            batches.standard_error(series["square_asked"]) * np.abs(reported) / asked_variance**2,
            batches.standard_error(own_square),
            own_square,
        )
        own_mean = (series["mean"] - series["mean_asked"]) / sd
        mean = Errors(
            -totals["mean"] / sd,
            batches.standard_error(series["mean_asked"]) / sd,
            batches.standard_error(own_mean),
            own_mean,
        )
    return Measured(variance, mean, samples, fields, explained[1])


def spread(length: int, count: int) -> np.ndarray:
    """Return at most `count` places spread evenly over a length."""
    return np.unique(np.linspace(0, length - 1, min(count, length)).round().astype(int))


def _pairs(run: FinishedRun, samples: list[Sample]) -> list[tuple[Any, Sample]]:
    return list(zip(run.walkers, samples, strict=True))


def _fields(run: FinishedRun, draws: np.ndarray, sample: Sample, weights: np.ndarray) -> Fields:
    flat = draws.reshape(len(weights), -1) - sample.mean
    if is_dense(run):
        centred = flat * np.sqrt(weights)[:, None]
        own = weights[sample.places]
        return dense_fields(centred.T @ centred, sample.draws, sample.gradients, own / own.sum())
    dimension = len(sample.further)
    groups = groups_of(run.target.structure)
    return coupled_fields(groups, flat[:, :dimension], sample.scale[:dimension], weights)
