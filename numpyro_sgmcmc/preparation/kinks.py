"""Curvature of densities with kinks, where the Hessian is zero almost everywhere."""

from math import log, sqrt
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.core import Tracer

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.preconditioner import AbstractLinearMap
from numpyro_sgmcmc.preparation.measure import (
    Curvature,
    curvature_at,
    power_iteration,
    trace_variation,
)
from numpyro_sgmcmc.preparation.target import Target, View
from numpyro_sgmcmc.preparation.thresholds import CHANCE_OF_KINKS, CURVATURE_POINTS


class Typical(NamedTuple):
    """Curvature at draws of the posterior, in a preconditioner's coordinates.

    Attributes:
        largest: the largest eigenvalue of S' H S at any of the draws.
        mean: the mean eigenvalue.
        variation: standard deviation of tr(S' H S) over the draws.
    """

    largest: jax.Array
    mean: jax.Array
    variation: jax.Array


def typical_curvature(
    target: Target, preconditioner: AbstractLinearMap, points: jax.Array, key: jax.Array
) -> Typical:
    """Return the curvature at draws of the posterior, (points, d).

    Integration by parts gives E|S' grad U|^2 = E tr(S' H S) for a smooth U. Where U has kinks
    (Laplace densities, rectifiers) the Hessian misses the curvature in them. Where squared
    gradients are larger than chance allows, curvatures are those of secants: differences of
    gradients one standard deviation to either side.
    """
    some = _some(points)
    inputs = preconditioner, some, key
    found = target.run(curvature_at, *inputs, optimise=False)
    square, variation = target.run(_further, *inputs, points, optimise=False)
    kinked = has_kinks(found, square, some.size)
    if not isinstance(kinked, Tracer) and not bool(kinked):
        return Typical(found.largest, found.mean, variation)
    mended = target.run(secant_curvature, *inputs, found, square, optimise=False)
    largest, mean = (jnp.where(kinked, a, b) for a, b in zip(mended, found, strict=True))
    return Typical(largest, mean, variation)


def compile_ahead(
    target: Target, preconditioner: AbstractLinearMap, points: jax.ShapeDtypeStruct, key: jax.Array
) -> None:
    """Begin to compile what `typical_curvature` runs for a smooth density."""
    some = jax.eval_shape(_some, points)
    target.ahead(curvature_at, preconditioner, some, key, optimise=False)
    target.ahead(_further, preconditioner, some, key, points, optimise=False)


def _some(points: jax.Array) -> jax.Array:
    return points[:: max(1, len(points) // CURVATURE_POINTS)]


def _further(
    view: View,
    preconditioner: AbstractLinearMap,
    some: jax.Array,
    key: jax.Array,
    points: jax.Array,
) -> tuple[jax.Array, jax.Array]:
    square = squared_gradient(view, preconditioner, some, key)
    return square, trace_variation(
        view, preconditioner, points, random.fold_in(key, jnp.ones((), jnp.uint32))
    )


def squared_gradient(
    view: View, preconditioner: AbstractLinearMap, points: jax.Array, key: jax.Array
) -> jax.Array:
    """Return the mean square of an entry of S' grad U at the points; NaN where U is not finite."""

    def one(inputs: tuple[jax.Array, jax.Array]) -> jax.Array:
        position, key = inputs
        _, key_rows = random.split(key)
        gradient = jax.grad(view.potential)(position, view.many_rows(key_rows))
        return jnp.sum(preconditioner.transpose(gradient) ** 2)

    squares = jax.lax.map(one, (points, random.split(key, len(points))))
    return jnp.mean(squares) / points.shape[1]


def has_kinks(found: Curvature, square: jax.Array, size: int) -> jax.Array:
    """Return whether the squared gradient exceeds the curvature beyond chance.

    The mean of n squares of N(0, 1) exceeds the bound with less than that chance (Laurent and
    Massart 2000, lemma 1).
    """
    share = -log(CHANCE_OF_KINKS) / size
    return square >= found.mean * (1.0 + 2.0 * sqrt(share) + 2.0 * share)


def secant_curvature(
    view: View,
    preconditioner: AbstractLinearMap,
    points: jax.Array,
    key: jax.Array,
    found: Curvature,
    square: jax.Array,
) -> Curvature:
    """Return curvatures by secants, no smaller than those that were found.

    Secants find nothing where the nearest kink is further away than they reach: then the squared
    gradient stands for the curvature. Without any slope, as on a plateau, only the scale of the
    coordinates is left.
    """

    def one(inputs: tuple[jax.Array, jax.Array]) -> Curvature:
        return _secants(view, preconditioner, *inputs)

    secants = jax.lax.map(one, (points, random.split(key, len(points))))
    sound = jax.tree.map(lambda x: jnp.where(jnp.isfinite(x), x, 0.0), secants)
    largest = jnp.maximum(found.largest, jnp.max(sound.largest))
    mean = jnp.maximum(found.mean, jnp.mean(sound.mean))
    instead = jnp.where(square > 0, square, 1.0)
    return Curvature(jnp.where(largest > 0, largest, instead), jnp.where(mean > 0, mean, instead))


def _secants(
    view: View, preconditioner: AbstractLinearMap, position: jax.Array, key: jax.Array
) -> Curvature:
    """Return curvatures by differences of gradients at position +- S v, v of length 1."""
    key_signs, key_rows = random.split(key)
    rows = view.many_rows(key_rows)

    def product(vector: jax.Array) -> jax.Array:
        moves = jnp.array([1.0, -1.0], position.dtype)[:, None] * preconditioner.apply(vector)
        ahead, behind = jax.vmap(jax.grad(view.potential), (0, None))(position + moves, rows)
        return preconditioner.transpose(ahead - behind) / 2

    return power_iteration(product, position, key_signs)
