"""Directions of large gradient noise in high dimension, from products with its covariance.

Minibatch gradients that are fewer than the dimensions show a noisy direction badly: with d / n = 30
its own sample direction has a squared cosine of 0.03 with one that is ten times as noisy as the
rest. Rows are many more than minibatches. A minibatch of B independent rows has the covariance

    V = (1 / B) cov_i(G_i),    G_i = S' grad U_i(z), minus that at the anchor of a control variate,

with U_i the potential as row i alone estimates it. V u needs no matrix and no gradient of a single
row: G_i' u for all rows is one derivative along u (forward), and sum_i c_i G_i is one gradient
(backward).

The correction describes V by variances v of coordinates outside of known directions P, which leaves
the excess (I - P P') (V - diag v) (I - P P'). The method of Lanczos finds its largest eigenvalues,
and its smallest: where coordinates that vary together have less noise than each of them alone, a
correction takes out noise that is not there. Their directions are added to P, where V is measured
as a matrix, corrected, and slowed down if needed. What is left is measured at other positions.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.correction import AbstractCorrection, CoupledCorrection
from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.cpu.gate import plain_jax
from numpyro_sgmcmc.gradient import AbstractGradient, Anchor
from numpyro_sgmcmc.identity import identity_of
from numpyro_sgmcmc.preconditioner import AbstractLinearMap, Coupled
from numpyro_sgmcmc.preparation.lanczos import lanczos
from numpyro_sgmcmc.preparation.target import Target, View
from numpyro_sgmcmc.preparation.thresholds import (
    ADDED_DIRECTIONS,
    ADDED_NUMBERS,
    NOISE_ROWS,
    NOISY_DIRECTIONS,
    POWER_STEPS,
    ROWS_OF_DIMENSION,
)
from numpyro_sgmcmc.types import Minibatch


def has_row_noise(target: Target, gradient: AbstractGradient) -> bool:
    """Return whether the noise is that of independent rows of one plate."""
    structure = target.structure
    if len(structure.plates) != 1 or structure.is_random or not target.minibatch.is_independent:
        return False
    return gradient.has_constant_state


def with_noisy_directions(
    target: Target,
    key: jax.Array,
    gradient: AbstractGradient,
    linear: Coupled,
    anchor: Anchor | None,
    points: jax.Array,
    noise: CoupledCorrection,
) -> Coupled:
    """Return the same map S, whose subspace includes the directions of the largest excess.

    Negative excess counts by its modulus.
    """
    dimension = points.shape[1]
    count = min(ADDED_DIRECTIONS, ADDED_NUMBERS // dimension, dimension - linear.subspace.size)
    if count < 1:
        return linear

    def find(view: View, *inputs: Any) -> jax.Array:
        start, product = _excess(view, gradient, *inputs)
        values, vectors = lanczos(product, start, 2 * count)
        return vectors[jax.lax.top_k(jnp.abs(values), count)[1]]

    inputs = anchor, linear, points[::2], noise, key
    name = "noisy directions", identity_of(gradient)
    found = target.run(find, *inputs, name=name, optimise=False)
    subspace = linear.subspace.extended(found)
    size = linear.subspace.size
    factor = jnp.eye(subspace.size, dtype=found.dtype).at[:size, :size].set(linear.factor)
    return replace(linear, subspace=subspace, factor=factor)


def largest_excess(
    target: Target,
    key: jax.Array,
    gradient: AbstractGradient,
    linear: AbstractLinearMap,
    anchor: Anchor | None,
    points: jax.Array,
    noise: AbstractCorrection,
) -> jax.Array:
    """Return the largest eigenvalue of what a correction leaves.

    It is that at the points where `with_noisy_directions` has not looked.
    """

    def measure(view: View, *inputs: Any) -> jax.Array:
        start, product = _excess(view, gradient, *inputs)
        return lanczos(product, start, POWER_STEPS)[0][-1]

    inputs = anchor, linear, points[1::2], noise, key
    name = "largest excess", identity_of(gradient)
    found = target.run(measure, *inputs, name=name, optimise=False)
    return jnp.maximum(found, 0.0)


def largest_deficit(
    target: Target,
    key: jax.Array,
    gradient: AbstractGradient,
    linear: AbstractLinearMap,
    anchor: Anchor | None,
    points: jax.Array,
    noise: AbstractCorrection,
) -> jax.Array:
    """Return by how much a correction exceeds the noise where it does most.

    The directions are found at half of the points and the noise there is measured at the others:
    of few rows for each dimension the smallest eigenvalue is too small.
    """

    def measure(view: View, *inputs: Any) -> jax.Array:
        anchor, linear, points, noise, key = inputs
        key_find, key_rest = random.split(key)
        given = anchor, linear
        start, product = _excess(view, gradient, *given, points[::2], noise, key_find)
        quiet = lanczos(product, start, POWER_STEPS)[1][:NOISY_DIRECTIONS]
        _, product = _excess(view, gradient, *given, points[1::2], noise, key_rest)
        return -jnp.min(jax.lax.map(lambda u: u @ product(u), quiet))

    inputs = anchor, linear, points, noise, key
    name = "largest deficit", identity_of(gradient)
    found = target.run(measure, *inputs, name=name, optimise=False)
    return jnp.maximum(found, 0.0)


def noise_product(
    view: View,
    gradient: AbstractGradient,
    anchor: Anchor | None,
    linear: AbstractLinearMap,
    points: jax.Array,
    key: jax.Array,
) -> Callable[[jax.Array], jax.Array]:
    """Return the map u -> V u for the noise's covariance, averaged over positions (points, d)."""
    ((name, plate),) = view.plates.items()
    keys = random.split(key, len(points))
    rows_in_all = max(NOISE_ROWS, ROWS_OF_DIMENSION * points.shape[1])
    each = max(2, rows_in_all // len(points))
    rows = jax.vmap(lambda k: view.many_rows(k, each).indices[name])(keys)
    fixed = (
        gradient.init(view, points[-1], anchor).position if gradient.is_control_variate else None
    )

    def by_row(move: jax.Array) -> jax.Array:
        def one(position: jax.Array, row: jax.Array) -> jax.Array:
            minibatch = Minibatch({name: row[None]})
            energy = view.potential(position + move, minibatch)
            return energy if fixed is None else energy - view.potential(fixed + move, minibatch)

        return jax.vmap(jax.vmap(one, (None, 0)))(points, rows)

    # An unbiased variance at each position, over the minibatch's size; as an integer it may exceed
    # 32 bits.
    count = float(len(points) * (rows.shape[1] - 1) * plate.subsample_size)
    origin = jnp.zeros_like(points[0])
    with plain_jax():
        _, along = jax.linearize(by_row, origin)
    back = jax.linear_transpose(along, origin)

    def product(u: jax.Array) -> jax.Array:
        c = along(linear.apply(u))
        (moved,) = back(c - c.mean(1, keepdims=True))
        return linear.transpose(moved) / count

    return product


def _excess(
    view: View,
    gradient: AbstractGradient,
    anchor: Anchor | None,
    linear: Coupled,
    points: jax.Array,
    noise: CoupledCorrection,
    key: jax.Array,
) -> tuple[jax.Array, Callable[[jax.Array], jax.Array]]:
    """Return a first vector, and the product with what the correction leaves of V."""
    key_rows, key_start = random.split(key)
    whole = noise_product(view, gradient, anchor, linear, points, key_rows)
    outside = noise.subspace.outside

    def product(u: jax.Array) -> jax.Array:
        u = outside(u)
        return outside(whole(u) - noise.outside * u)

    return outside(random.signs(key_start, points.shape[1:], points.dtype)), product
