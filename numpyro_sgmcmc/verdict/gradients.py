"""Nearly exact gradients of U at draws, with a bound on their cost."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.gradient import Anchor, Plain
from numpyro_sgmcmc.gradient.fixed_point import controlled_estimate
from numpyro_sgmcmc.preparation import Target, View, second_order
from numpyro_sgmcmc.types import Indices, Minibatch
from numpyro_sgmcmc.verdict.at_points import ahead_at_points, at_points, random_rows, with_keys
from numpyro_sgmcmc.verdict.thresholds import DENSE, HESSIAN_COST, MOST_BETA

POINTS = 256
"""Points of a block: a few blocks for each processor."""

ROWS = 2**22
"""Rows of all points of a block together, at most."""


def gradients(
    target: Target,
    key: jax.Array,
    points: np.ndarray,
    centre: np.ndarray,
    budget: int,
    enough: float = np.inf,
) -> np.ndarray:
    """Return nearly exact gradients of U at points (n, d).

    They are those of all rows where the budget allows. Elsewhere each point has fresh rows, as many
    as the budget allows, and the estimates are unbiased with control variates at the centre c:

    - first order: grad U_S(z) - grad U_S(c) + grad U(c).
    - second order, where that leaves too much noise and the budget allows for the Hessian of all
      rows as well: less beta (H_S(c) - H(c)) (z - c), with beta of each coordinate by regression,
      between 0 and 2. On a Gaussian beta is 1 and no noise is left. Effects of groups have few rows
      of a sample each, so that the first order alone leaves them more noise than they have
      variation.

    Args:
        target: the model bound to its data.
        key: of the rows.
        points: (n, d).
        centre: c, (d,), near the mean of the points.
        budget: gradients of single rows that this may cost.
        enough: rows that leave an estimate of first order hardly any noise; infinite if not known.
    """
    structure = target.structure
    rows = max((plate.size for plate in structure.plates.values()), default=1)
    each = max(budget // len(points), 1)
    points = np.asarray(points)
    if rows <= each:
        return np.asarray(at_points(target, _exact, points, POINTS), np.float64)
    if structure.is_random:
        of = partial(_sampled, each)
        found = with_keys(target, of, points, POINTS, key, name=("sampled", each))
        return np.asarray(found, np.float64)
    hessian_cost = HESSIAN_COST * rows * structure.dimension
    if structure.dimension <= DENSE and enough <= each:
        each = int(enough)
    elif structure.dimension <= DENSE and 2 * hessian_cost <= budget:
        # A derivative of a gradient costs more than a gradient.
        each = max((budget - hessian_cost) // (2 * len(points)), 1)
        return _second_order(target, points, key, centre, each)
    at_centre: Any = centre
    anchor = Anchor(at_centre, *target.run(View.value_and_grad, centre))
    given = random_rows(structure, key, each)
    found = at_points(target, _controlled, points, _most(each), anchor, given=given)
    return np.asarray(found, np.float64)


def _most(each: int) -> int:
    """Return the number of points of a block with so many rows at each."""
    return max(min(POINTS, ROWS // each), 1)


def _second_order(
    target: Target, points: np.ndarray, key: jax.Array, centre: np.ndarray, each: int
) -> np.ndarray:
    inputs, given = (points, _most(each), centre), random_rows(target.structure, key, each)
    ahead_at_points(target, _expanded, *inputs, given=given)  # Both programs are compiled at once.
    _, gradient, hessian = second_order(target, centre)
    found = at_points(target, _expanded, *inputs, given=given)
    change, linear = (np.asarray(x, np.float64) for x in found)
    exact = (np.asarray(points, np.float64) - centre) @ np.asarray(hessian, np.float64)
    noise = linear - exact
    variance = np.sum(noise**2, axis=0)
    explained = np.sum((change - exact) * noise, axis=0)
    # Where no row depends on a coordinate, what is called noise is the rounding error of a linear
    # function of the draws, and a regression on it would take out a part of the gradient.
    beta = np.clip(explained / np.where(variance > 0, variance, 1.0), 0.0, MOST_BETA)
    return np.asarray(gradient, np.float64) + change - beta * noise


def _exact(view: View, points: jax.Array) -> jax.Array:
    def over(batch: Minibatch) -> jax.Array:
        return jax.lax.map(lambda z: jax.grad(view.potential)(z, batch), points)

    return view.over(over)


def _sampled(each: int, view: View, points: jax.Array, keys: jax.Array) -> jax.Array:
    def one(inputs: tuple[jax.Array, jax.Array]) -> jax.Array:
        batch = view.many_rows(inputs[1], each)
        return Plain().estimate(view.potential, inputs[0], batch, ())[0].gradient

    return jax.lax.map(one, (points, keys))


def _controlled(view: View, points: jax.Array, rows: Indices, anchor: Anchor) -> jax.Array:
    def one(inputs: tuple[jax.Array, Indices]) -> jax.Array:
        batch = Minibatch(inputs[1], None)
        return controlled_estimate(view.potential, inputs[0], batch, anchor).gradient

    return jax.lax.map(one, (points, rows))


def _expanded(
    view: View, points: jax.Array, rows: Indices, centre: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Return changes of the minibatch gradient from the centre, and their linear parts, (k, d)."""

    def one(inputs: tuple[jax.Array, Indices]) -> tuple[jax.Array, jax.Array]:
        gradient = partial(jax.grad(view.potential), minibatch=Minibatch(inputs[1], None))
        away = inputs[0] - centre
        both = jnp.stack([inputs[0], centre]), jnp.stack([jnp.zeros_like(away), away])
        # Both points in one: a gradient of its own for the first takes longer to compile.
        slopes, moved = jax.vmap(lambda z, v: jax.jvp(gradient, (z,), (v,)))(*both)
        return slopes[0] - slopes[1], moved[1]

    return jax.lax.map(one, (points, rows))
