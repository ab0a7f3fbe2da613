"""Errors of a run's reported means and standard deviations, measured by the model's gradients."""

from typing import Any, NamedTuple

import jax
import numpy as np

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.preparation import groups_of
from numpyro_sgmcmc.verdict.batches import Batches
from numpyro_sgmcmc.verdict.budget import is_dense, most_points, most_rows
from numpyro_sgmcmc.verdict.columns import by_columns
from numpyro_sgmcmc.verdict.errors import Errors
from numpyro_sgmcmc.verdict.fields import Fields, crossed, dense_fields, wide_fields
from numpyro_sgmcmc.verdict.gradients import gradients
from numpyro_sgmcmc.verdict.moments import Moments, moments_of
from numpyro_sgmcmc.verdict.run import FinishedRun
from numpyro_sgmcmc.verdict.thresholds import MOST_BIAS
from numpyro_sgmcmc.verdict.widths import Dense, shared_coordinates, with_widths
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
        values: of the further functions at all draws, (draws, k).
        gap: differences of the gradients that tell their bias, (n, d); None where they have none.
    """

    places: np.ndarray
    draws: np.ndarray
    gradients: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    further: np.ndarray
    values: np.ndarray
    gap: np.ndarray | None = None


class Measured(NamedTuple):
    """What the gradients at the draws say.

    Attributes:
        variance: errors of the reported variances.
        mean: errors of the reported means.
        samples: of each walker.
        fields: of each walker.
        mean_explained: share of the finest walker's variation that the gradients explain, (d,).
        unseen: relative Monte Carlo error of the reported standard deviations where normal scores
            are judged in their place, 0 elsewhere, (d,).
    """

    variance: Errors
    mean: Errors
    samples: list[Sample]
    fields: list[Fields]
    mean_explained: np.ndarray
    unseen: np.ndarray


def samples_of(run: FinishedRun, key: jax.Array, enough: float) -> list[Sample]:
    """Return some draws of each walker, the same ones, with the gradients there.

    Args:
        run: what is judged.
        key: of rows.
        enough: rows that leave estimates of gradients hardly any noise; infinite if not known.
    """
    count, dimension = run.weights.size, run.walkers[0].draws.shape[2]
    places = spread(count, most_points(run, count))
    rows = most_rows(run, count)
    weights = run.weights.reshape(-1) / run.weights.sum()
    found, centre = [], None
    for walker, key_walker in zip(run.walkers, random.keys_of(key, len(run.walkers)), strict=True):
        flat = walker.draws.reshape(count, dimension)
        mean: Any = by_columns(lambda some: (weights @ some,), flat)[0]
        centre = mean.astype(run.dtype) if centre is None else centre
        some = flat[places].astype(np.float64)
        points = some.astype(run.dtype)
        if run.latents is None:
            slopes = gradients(run.target, key_walker, points, centre, rows, enough)
            gap = None
        else:
            given = run.target, key_walker, points, centre, run.latents.latents, rows
            slopes, gap = marginal_gradients(*given)
        scale = _deviations(flat, mean, weights)
        some -= mean
        nothing = np.zeros((dimension, 0)), np.zeros((count, 0))
        found.append(Sample(places, some, slopes / run.temperature, mean, scale, *nothing, gap))
    return found


def measured(run: FinishedRun, samples: list[Sample], batches: Batches) -> Measured:
    """Return the errors of the means and variances that a run reports.

    Each coordinate's moments are compared with those that Stein's identity asks for, for each
    walker: by `asked_moments` where the gradients explain nearly all of the draws' variation, so
    that it is nearly exact, else by `ratio_moments`. Where the draws have heavy tails and their
    variance is not known well, it is the moments of their normal scores, by `tapered_moments`. What
    is reported is the sum of the walkers' averages times their coefficients, and so is its error.
    """
    weights = run.weights.reshape(-1) / run.weights.sum()
    fields = [
        _fields(run, walker.draws, sample, weights) for walker, sample in _pairs(run, samples)
    ]
    all_found: list[Moments] = []
    for (walker, sample), field in zip(_pairs(run, samples), fields, strict=True):
        own = weights[sample.places]
        own = own / own.sum()
        slopes = _derivatives(run, sample, field, own)
        inputs = sample.draws, slopes, sample.mean, sample.scale
        flat = walker.draws.reshape(len(weights), -1)
        first = all_found[0] if all_found else None
        given = batches, sample.places, own, flat, sample.values, inputs
        # Scores of thousands of columns take long, and change no outcome of chains that do not mix.
        all_found.append(moments_of(*given, first, has_scores=run.is_mixed))
    finest = all_found[0]
    unit = finest.scale
    coefficients = [walker.coefficient for walker in run.walkers]
    centre = sum(c * found.centre for c, found in zip(coefficients, all_found, strict=True))
    totals: dict[str, Any] = dict.fromkeys(("asked", "square", "mean", "spread"), 0.0)
    series: dict[str, Any] = dict.fromkeys(("mean", "mean_asked", "square", "square_asked"), 0.0)
    for c, found in zip(coefficients, all_found, strict=True):
        ratio = found.scale / unit
        totals["mean"] += c * ratio * found.mean
        totals["asked"] += c * ratio**2 * (found.square - found.mean**2)
        totals["square"] += c * ratio**2
        totals["spread"] += c * ((found.centre - centre) / unit) ** 2
        series["mean"] += c * ratio * found.mean_series
        series["mean_asked"] += c * ratio * found.mean_asked_series
        series["square"] += c * ratio**2 * found.square_series
        series["square_asked"] += c * ratio**2 * found.square_asked_series
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
    unseen = _unseen(batches, coefficients, [sample.scale for sample in samples], all_found)
    return Measured(variance, mean, samples, fields, finest.mean_explained, unseen)


def _unseen(
    batches: Batches,
    coefficients: list[float],
    scales: list[np.ndarray],
    all_found: list[Moments],
) -> np.ndarray:
    """Return `unseen` of `Measured`, from each walker's coefficient, scales and moments."""
    total = np.zeros_like(scales[0])
    series = np.zeros_like(all_found[0].plain_series)
    for c, scale, found in zip(coefficients, scales, all_found, strict=True):
        square = c * (scale / scales[0]) ** 2
        total += square
        series += square * found.plain_series
    with np.errstate(all="ignore"):
        error = batches.standard_error(series) / (2 * np.abs(total))
    return np.where(np.isfinite(all_found[0].knots[0]), error, 0.0)


def spread(length: int, count: int) -> np.ndarray:
    """Return at most `count` places spread evenly over a length."""
    return np.unique(np.linspace(0, length - 1, min(count, length)).round().astype(int))


def _deviations(draws: np.ndarray, mean: np.ndarray, weights: np.ndarray) -> np.ndarray:
    def of(draws: np.ndarray, mean: np.ndarray) -> tuple[np.ndarray]:
        return (np.sqrt(weights @ (draws - mean) ** 2),)

    return by_columns(of, draws, mean)[0]


def _pairs(run: FinishedRun, samples: list[Sample]) -> list[tuple[Any, Sample]]:
    return list(zip(run.walkers, samples, strict=True))


def _derivatives(
    run: FinishedRun, sample: Sample, field: Fields, weights: np.ndarray
) -> np.ndarray:
    """Return the derivatives along the fields, (n, d + k)."""
    if run.latents is not None:
        if field.covariance is not None and field.bias > MOST_BIAS:
            return crossed(
                sample.draws[:, : len(sample.further)], sample.gradients, sample.further, weights
            )
        return field.along(sample.gradients, sample.further)
    found = field.along(sample.gradients, sample.further)
    dimension = len(sample.further)
    some, scale = sample.draws[:, :dimension], sample.scale[:dimension]
    dense = None
    if field.covariance is not None and field.root is not None:
        fields = field.covariance / np.diag(field.covariance)
        dense = Dense(field.root @ field.root.T, fields)
    groups = groups_of(run.target.structure)
    given = some, sample.gradients, found, scale, weights, dense
    found[:, shared_coordinates(groups)] = with_widths(groups, *given)
    return found


def _fields(run: FinishedRun, draws: np.ndarray, sample: Sample, weights: np.ndarray) -> Fields:
    own = weights[sample.places]
    own = own / own.sum()
    if is_dense(run):
        centred = (draws.reshape(len(weights), -1) - sample.mean) * np.sqrt(weights)[:, None]
        return dense_fields(centred.T @ centred, sample.draws, sample.gradients, own)
    dimension = len(sample.further)
    groups = groups_of(run.target.structure)
    some, scale = sample.draws[:, :dimension], sample.scale[:dimension]
    return wide_fields(groups, some, scale, own)
