"""Directions that are wider than single coordinates show, in high dimension."""

from typing import Any, NamedTuple

import jax
import numpy as np

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.model import Structure
from numpyro_sgmcmc.preparation import View
from numpyro_sgmcmc.preparation.thresholds import MANY_ROWS
from numpyro_sgmcmc.types import Minibatch
from numpyro_sgmcmc.verdict.budget import hessian_points
from numpyro_sgmcmc.verdict.measurement import Sample, spread
from numpyro_sgmcmc.verdict.run import FinishedRun
from numpyro_sgmcmc.verdict.thresholds import (
    LANCZOS_STEPS,
    SOFT_CURVATURE,
    SOFT_DIRECTIONS,
)

ROWS = 256
"""Draws that are converted to double precision at once."""


class Softest(NamedTuple):
    """Directions of small curvature.

    Attributes:
        directions: unit vectors in units of each coordinate's standard deviation, (d, k).
        are_all: whether there are no more of them than were found.
    """

    directions: np.ndarray
    are_all: bool


def softest_directions(run: FinishedRun, sample: Sample, key: jax.Array) -> Softest:
    """Return the directions of smallest curvature, by Lanczos' method.

    The Hessian of U / T, its mean over some draws, in units in which each coordinate's draws have
    variance 1. In coordinates that do not depend on each other it is the identity; where many
    coordinates vary together, errors of their common part are a small part of what each
    coordinate's own derivative shows.
    """
    flat = run.walkers[0].draws.reshape(-1, len(sample.scale))
    points = flat[spread(len(flat), hessian_points(run))].astype(run.dtype)
    rows = rows_by_point(run.target.structure, len(points))

    def curved(vector: np.ndarray) -> np.ndarray:
        moved = (sample.scale * vector).astype(run.dtype)
        moved = run.target.run(_product, moved, points, rows, key)
        return sample.scale * np.asarray(moved, np.float64) / run.temperature

    values, vectors = lanczos(curved, len(sample.scale))
    if not np.all(np.isfinite(values)):
        return Softest(np.zeros((len(sample.scale), 0)), False)
    soft = values < SOFT_CURVATURE
    kept = vectors[:, soft][:, :SOFT_DIRECTIONS]
    return Softest(kept, int(soft.sum()) <= SOFT_DIRECTIONS)


def _product(
    view: View, vector: jax.Array, points: jax.Array, rows: dict[str, jax.Array], key: jax.Array
) -> jax.Array:
    """Return the mean product of the Hessians at the points with a vector, (d,)."""

    def one(each: Any) -> jax.Array:
        point, rows, key = each
        return view.hessian_product_over(point, vector, Minibatch(rows, key))

    # To trace the generator takes longer than to multiply.
    keys = random.split(key, len(points)) if view.structure.is_random else None
    return jax.lax.map(one, (points, rows, keys)).mean(0)


def rows_by_point(structure: Structure, points: int) -> dict[str, np.ndarray]:
    """Return rows of each subsampled plate for each point, (points, rows).

    Rows are taken in a random order, each again only after all others: an effect of few rows has
    them all as often as they count, if there are points enough.
    """
    rng, found = np.random.default_rng(0), {}
    for group in structure.groups:
        most = int(MANY_ROWS ** (1 / len(group)))
        for name in group:
            size = structure.plates[name].size
            count = min(most, size)
            times = -(-points * count // size)
            order = [rng.permutation(size) for _ in range(times)]
            found[name] = np.concatenate(order)[: points * count].reshape(points, count)
    return found


def lanczos(product: Any, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Return Ritz values, in ascending order, and vectors (d, k) of a symmetric linear map."""
    steps = min(LANCZOS_STEPS, dimension)
    vector = np.random.default_rng(0).choice([-1.0, 1.0], dimension) / np.sqrt(dimension)
    basis, images = [vector], []
    while True:
        images.append(product(basis[-1]))
        rest = images[-1]
        # Twice: once leaves rounding errors that grow.
        for _ in range(2):
            rest = rest - np.stack(basis, 1) @ (np.stack(basis) @ rest)
        length = np.linalg.norm(rest)
        # Finite precision of the map's images, float32 most often.
        if len(basis) == steps or not length > 1e-4 * np.linalg.norm(images[-1]):
            break
        basis.append(rest / length)
    space, moved = np.stack(basis, 1), np.stack(images, 1)
    projected = space.T @ moved
    if not np.all(np.isfinite(projected)):
        return np.full(len(basis), np.nan), space
    values, inner = np.linalg.eigh((projected + projected.T) / 2)
    return values, space @ inner


def with_directions(
    run: FinishedRun, samples: list[Sample], directions: np.ndarray
) -> list[Sample]:
    """Return the samples with positions along directions as further functions."""
    further = directions / samples[0].scale[:, None]
    weights = run.weights.reshape(-1) / run.weights.sum()
    found = []
    for walker, sample in zip(run.walkers, samples, strict=True):
        values = _product_by_rows(walker.draws.reshape(len(weights), -1), further)
        mean = sample.mean @ further
        scale = np.sqrt(weights @ (values - mean) ** 2)
        found.append(
            sample._replace(
                draws=np.concatenate([sample.draws, sample.draws @ further], axis=1),
                mean=np.concatenate([sample.mean, mean]),
                scale=np.concatenate([sample.scale, scale]),
                further=further,
                values=values,
            )
        )
    return found


def _product_by_rows(draws: np.ndarray, further: np.ndarray) -> np.ndarray:
    """Return the product of draws with a matrix in double precision, without a copy of all."""
    blocks = [draws[at : at + ROWS] for at in range(0, len(draws), ROWS)]
    return np.concatenate([block.astype(np.float64) @ further for block in blocks])
