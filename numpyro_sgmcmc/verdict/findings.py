"""Everything that theory and measurement say of a finished run."""

from typing import NamedTuple

import jax
import numpy as np

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.preparation import Noise
from numpyro_sgmcmc.verdict.batches import Batches, batches_of
from numpyro_sgmcmc.verdict.bootstrap import discrepancy
from numpyro_sgmcmc.verdict.budget import is_dense
from numpyro_sgmcmc.verdict.errors import unknown
from numpyro_sgmcmc.verdict.fields import Fields
from numpyro_sgmcmc.verdict.forgetting import unforgotten
from numpyro_sgmcmc.verdict.gradient_noise import rows_enough
from numpyro_sgmcmc.verdict.measurement import (
    Measured,
    Sample,
    measured,
    samples_of,
    spread,
)
from numpyro_sgmcmc.verdict.pooling import Judged, judged
from numpyro_sgmcmc.verdict.run import FinishedRun
from numpyro_sgmcmc.verdict.shapes import bimodality, has_valley, tail_indices
from numpyro_sgmcmc.verdict.softness import Softest, softest_directions, with_directions
from numpyro_sgmcmc.verdict.theory import Predicted, predicted
from numpyro_sgmcmc.verdict.thresholds import (
    BIMODAL,
    DENSE,
    DRAWS_BY_DIMENSION,
    DRAWS_FOR_STEIN,
    HEAVIEST_TAIL,
    MEAN_TOLERANCE,
    MODES_APART,
    ROUNDING,
    SD_TOLERANCE,
    TAIL_DRAWS,
)


class Findings(NamedTuple):
    """What is known of a run's errors.

    Attributes:
        variance: of the reported variances, the coordinates' first, then those of directions.
        mean: of the reported means, likewise.
        predicted: by theory, of the coordinates.
        batches: behind the standard errors.
        unchecked: the first coordinate whose error cannot be checked and why, None where all can
            be; the coordinate is None where no single one is meant.
        discrepancy: kernel Stein discrepancy.
        p_value: of that discrepancy.
        softest: the directions that were checked beside coordinates; None if there are few enough
            of these for a covariance.
        unseen: as in `Measured`; None where nothing is measured.
        broken: the coordinate whose derivative is most often not finite, and the share of draws
            where it is not; None where all are finite.
    """

    variance: Judged
    mean: Judged
    predicted: Predicted
    batches: Batches
    unchecked: tuple[int | None, str] | None
    discrepancy: float
    p_value: float
    softest: Softest | None = None
    unseen: np.ndarray | None = None
    broken: tuple[int, float] | None = None


def findings_of(
    run: FinishedRun,
    key: jax.Array,
    sites: np.ndarray,
    noise: Noise | None,
    earlier: Findings | None = None,
) -> Findings:
    """Return what theory and measurement say of a run.

    Args:
        run: what is judged.
        key: of rows and probes.
        sites: labels of the coordinates, (d,).
        noise: of the gradients at the draws; None where none is measured.
        earlier: findings on the same draws with fewer gradients. In high dimension soft directions
            and theory do not depend on these gradients and are taken from there.
    """
    key_gradients, key_curvature, key_soft = random.keys_of(key, 3)
    dimension = run.walkers[0].draws.shape[2]
    batches = batches_of(run.weights, run.is_together)
    if not run.has_finite_draws:
        # An underflow on the constrained space, say.
        return _nothing(dimension, batches, "some draws are not finite numbers")
    if not is_dense(run) and run.latents is not None:
        why = f"there are more than {DENSE} shared parameters beside latents of rows"
        if dimension <= DENSE:
            draws = f"use at least {DRAWS_BY_DIMENSION * dimension:,} draws"
            why = f"there are too few draws for a covariance: {draws}"
        # Whether noise and step size are too large is known without gradients at the draws, which
        # take minutes where a row has a hundred units.
        theory = predicted(run, Fields(), noise, key_curvature)
        return _nothing(dimension, batches, why)._replace(predicted=theory)
    samples = samples_of(run, key_gradients, rows_enough(run, noise))
    broken = np.mean([~np.isfinite(s.gradients) for s in samples], axis=(0, 1))
    if broken.any():
        at = int(np.argmax(broken))
        nothing = _nothing(dimension, batches, "its gradient is not finite at some draws", at)
        return nothing._replace(broken=(at, float(broken[at])))
    if run.still:
        return _nothing(dimension, batches, "some chain did not move")
    still = np.any([~(s.scale > ROUNDING * np.abs(s.mean)) for s in samples], axis=0)
    if still.any():
        return _nothing(dimension, batches, "it did not move", int(np.argmax(still)))
    wide, unchecked, softest = samples, None, None
    if not is_dense(run):
        softest = None if earlier is None else earlier.softest
        if softest is None:
            softest = softest_directions(run, samples[0], key_soft)
        wide = with_directions(run, samples, softest.directions)
        if not softest.are_all:
            enough = f" (at least {DRAWS_BY_DIMENSION * dimension:,})" if dimension <= DENSE else ""
            unchecked = (
                None,
                f"as too many coordinates depend on each other: use more draws{enough}",
            )
    found = measured(run, wide, batches)
    if earlier is None or found.fields[0].covariance is not None:
        theory = predicted(run, found.fields[0], noise, key_curvature)
    else:
        theory = earlier.predicted
    value, p_value = _discrepancy(samples[0], found.fields[0])
    further = len(found.variance.value) - dimension
    labels = np.concatenate([sites, [f"direction {k}" for k in range(further)]])
    return Findings(
        judged(found.variance, batches, labels, 2 * SD_TOLERANCE),
        judged(found.mean, batches, labels, MEAN_TOLERANCE),
        theory,
        batches,
        unchecked
        or unforgotten(run, samples[0], found.fields[0])
        or _unchecked(run, found, batches),
        value,
        p_value,
        softest,
        found.unseen,
    )


def _nothing(dimension: int, batches: Batches, why: str, at: int | None = None) -> Findings:
    nothing = np.full(dimension, np.nan)
    theory = Predicted(nothing, nothing, nothing, np.nan, np.nan, None)
    errors = Judged(unknown(dimension), unknown(dimension))
    return Findings(errors, errors, theory, batches, (at, f"as {why}"), np.nan, np.nan)


def _unchecked(
    run: FinishedRun, found: Measured, batches: Batches
) -> tuple[int | None, str] | None:
    dimension = run.walkers[0].draws.shape[2]
    flat = run.walkers[0].draws.reshape(-1, dimension)
    some = flat if len(flat) <= TAIL_DRAWS else flat[spread(len(flat), TAIL_DRAWS)]
    heavy = np.flatnonzero(tail_indices(some) > HEAVIEST_TAIL)
    if heavy.size:
        return int(heavy[0]), "as the tails are so heavy that a variance need not exist"
    several = bimodality(flat, run.weights.reshape(-1) / run.weights.sum()) > BIMODAL
    apart = np.flatnonzero(several & (found.mean_explained[:dimension] < MODES_APART))
    apart = [at for at in apart if has_valley(flat[:, at], batches)]
    if apart:
        return int(apart[0]), "as gradients say too little of the proportions of several modes"
    undefined = np.flatnonzero(~np.isfinite(found.variance.value))
    if undefined.size:
        at = int(undefined[0])
        return at if at < dimension else None, "as Stein's identity asks for a negative variance"
    return None


def _discrepancy(sample: Sample, fields: Fields) -> tuple[float, float]:
    places = spread(len(sample.draws), DRAWS_FOR_STEIN)
    draws, gradients = sample.draws[places], sample.gradients[places]
    if fields.root is None:
        return discrepancy(draws / sample.scale, gradients * sample.scale)
    return discrepancy(np.linalg.solve(fields.root, draws.T).T, gradients @ fields.root)
