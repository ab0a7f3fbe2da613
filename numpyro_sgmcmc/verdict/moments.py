"""What one walker's draws show of each coordinate, beside what gradients ask for."""

from typing import NamedTuple

import numpy as np

from numpyro_sgmcmc.verdict.batches import Batches
from numpyro_sgmcmc.verdict.columns import by_columns
from numpyro_sgmcmc.verdict.control_variates import asked_moments, chosen, ratio_moments
from numpyro_sgmcmc.verdict.normal_scores import (
    PROBABILITIES,
    along_scores,
    is_heavy,
    knots_of,
    score_values,
    scores,
)
from numpyro_sgmcmc.verdict.tapered import tapered_moments
from numpyro_sgmcmc.verdict.thresholds import EXPLAINED, SD_TOLERANCE, STANDARD_ERRORS


class Moments(NamedTuple):
    """Moments in units of the draws' standard deviations and about their mean.

    Attributes:
        mean: that gradients ask for, (d,).
        square: second moment that they ask for, (d,).
        explained: see `Asked`, (d,).
        mean_explained: likewise.
        mean_series: batches' means of the draws, (batches, d).
        square_series: of their squares less 1.
        mean_asked_series: of the residuals behind `mean`.
        square_asked_series: of those behind `square`.
        centre: mean of all draws, or of their normal scores where these are judged, (d,).
        scale: standard deviation, likewise.
        knots: of the normal scores, (9, d), NaN where the draws themselves are judged.
        plain_series: batches' means of the draws' squares less 1, whatever is judged, (batches, d).
    """

    mean: np.ndarray
    square: np.ndarray
    explained: np.ndarray
    mean_explained: np.ndarray
    mean_series: np.ndarray
    square_series: np.ndarray
    mean_asked_series: np.ndarray
    square_asked_series: np.ndarray
    centre: np.ndarray
    scale: np.ndarray
    knots: np.ndarray
    plain_series: np.ndarray


class Columns(NamedTuple):
    """Draws of some coordinates, in their own units.

    Attributes:
        every: all draws, (draws, k).
        some: those with derivatives, about the mean of all, (n, k).
        slopes: derivatives along fields that move the coordinate at unit speed, (n, k).
        centre: mean of all draws, (k,).
        scale: their standard deviations, (k,).
    """

    every: np.ndarray
    some: np.ndarray
    slopes: np.ndarray
    centre: np.ndarray
    scale: np.ndarray


class Finest(NamedTuple):
    """What the finest walker's draws have decided for the others.

    Attributes:
        exact: where polynomials are taken as control variates, (d,).
        knots: of the normal scores, (9, d).
    """

    exact: np.ndarray
    knots: np.ndarray


def moments_of(
    batches: Batches,
    places: np.ndarray,
    weights: np.ndarray,
    draws: np.ndarray,
    values: np.ndarray,
    inputs: tuple[np.ndarray, ...],
    finest: Moments | None,
    has_scores: bool = True,
) -> Moments:
    """Return the moments of coordinates and of further functions, which are not in one array.

    Args:
        batches: behind the standard errors.
        places: which of the draws have derivatives.
        weights: of these, (n,), with sum 1.
        draws: of the coordinates, (draws, d).
        values: of the further functions, (draws, k).
        inputs: draws with derivatives about the mean and their derivatives, (n, d + k), mean and
            standard deviations of all draws, (d + k,).
        finest: the moments of the finest walker, None for this one itself.
        has_scores: whether normal scores take the place of draws with heavy tails.
    """
    given: tuple[np.ndarray, ...] = ()
    if finest is not None:
        given = finest.explained >= EXPLAINED, finest.knots

    def of(
        every: np.ndarray,
        some: np.ndarray,
        slopes: np.ndarray,
        centre: np.ndarray,
        scale: np.ndarray,
        *decided: np.ndarray,
    ) -> Moments:
        columns = Columns(every, some, slopes, centre, scale)
        known = Finest(*decided) if decided else None
        return _moments(batches, places, weights, columns, known, has_scores)

    arrays = *inputs, *given
    dimension = draws.shape[1]
    parts = [by_columns(of, draws, *(x[..., :dimension] for x in arrays))]
    if values.shape[1]:
        parts.append(by_columns(of, values, *(x[..., dimension:] for x in arrays)))
    return Moments(*(np.concatenate(both, axis=-1) for both in zip(*parts, strict=True)))


def _moments(
    batches: Batches,
    places: np.ndarray,
    weights: np.ndarray,
    columns: Columns,
    finest: Finest | None,
    has_scores: bool,
) -> Moments:
    x = (columns.every - columns.centre) / columns.scale
    squares = x**2
    square_series = plain_series = batches.means(squares - 1)
    inputs = columns.some / columns.scale, columns.slopes * columns.scale, weights
    polynomial = asked_moments(*inputs)
    if finest is None:
        exact = polynomial.explained >= EXPLAINED
        sd_error = batches.standard_error(plain_series) / 2
        is_known = exact & (sd_error * STANDARD_ERRORS <= SD_TOLERANCE)
        is_scored = np.zeros_like(is_known)
        if has_scores:
            is_scored = ~is_known & is_heavy(squares, batches.weights)
        knots = _knots(columns, batches.weights, is_scored)
    else:
        exact, knots = finest
    asked = chosen(polynomial, ratio_moments(*inputs), exact)
    mean_series = batches.means(x)
    is_scored = np.isfinite(knots[0])
    if is_scored.any():
        columns = _scored(columns, knots, batches.weights)
        x = (columns.every - columns.centre) / columns.scale
        inputs = columns.some / columns.scale, columns.slopes * columns.scale, weights
        tapered = tapered_moments(x, batches.weights, *inputs)
        asked = chosen(tapered.asked, asked, is_scored)
        mean_series = np.where(is_scored, batches.means(tapered.location), mean_series)
        square_series = np.where(is_scored, batches.means(tapered.scale), square_series)
    return Moments(
        asked.mean,
        asked.square,
        polynomial.explained,
        polynomial.mean_explained,
        mean_series,
        square_series,
        batches.means(asked.mean_residual, places),
        batches.means(asked.square_residual, places),
        columns.centre,
        columns.scale,
        knots,
        plain_series,
    )


def _knots(columns: Columns, weights: np.ndarray, is_scored: np.ndarray) -> np.ndarray:
    """Return the knots of the columns whose normal scores are judged, (9, k), NaN elsewhere."""
    found = np.full((len(PROBABILITIES), len(is_scored)), np.nan)
    for at in np.flatnonzero(is_scored):
        found[:, at] = knots_of(columns.every[:, at], weights)
    return found


def _scored(columns: Columns, knots: np.ndarray, weights: np.ndarray) -> Columns:
    """Return columns with normal scores, and their derivatives, in place of draws."""
    every, some, slopes, centre, scale = (np.array(x) for x in columns)
    for at in np.flatnonzero(np.isfinite(knots[0])):
        few = scores(knots[:, at], some[:, at] + centre[at])
        every[:, at] = score_values(knots[:, at], every[:, at])
        centre[at] = weights @ every[:, at]
        some[:, at] = few.values - centre[at]
        slopes[:, at] = along_scores(few, slopes[:, at])
        scale[at] = np.sqrt(weights @ (every[:, at] - centre[at]) ** 2)
    return Columns(every, some, slopes, centre, scale)
