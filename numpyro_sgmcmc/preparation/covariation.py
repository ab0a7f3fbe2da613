"""How gradient noise and curvature vary together over the posterior, and what it does to a scale.

Effects x_j whose curvatures depend on a shared parameter k have, in coordinates of unit variance,
the potential U = k^2 / 2 + sum_j ((1 + b_j k) x_j^2 - log(1 + b_j k)) / 2. A walker at z with the
temperature 1 + e_j(z) along x_j, where E e_j = 0, has E[x_j U_j] = 1: Stein's identity with linear
functions sees nothing. The stationary law changes E f by -E[sum_j e_j d_j^2 phi], to first order,
where phi solves L phi = f - E f with the dynamics' generator L phi = sum_i (d_i^2 - U_i d_i) phi.
For f = k^2 it is

    phi = -k^2 / 2 + sum_j b_j k (x_j^2 - 1) / 6

up to terms of order b^2, because L(-k^2 / 2) = k^2 - 1 + sum_j b_j k (x_j^2 - 1) / 2 and
L(k (x_j^2 - 1)) = -3 k (x_j^2 - 1) + .... With the Hessian's diagonal H_jj = 1 + b_j k,

    Var k  changes by  -C / 3,    C = sum_j E[e_j (H_jj - E H_jj)].

Many effects whose temperatures differ a little add up, while the mean of k does not change to this
order.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.gradient import AbstractGradient
from numpyro_sgmcmc.preconditioner import AbstractLinearMap
from numpyro_sgmcmc.preparation.target import View
from numpyro_sgmcmc.preparation.thresholds import COVARIATION_DRAWS
from numpyro_sgmcmc.types import Minibatch

CHANGE_OF_VARIANCE = 3.0
"""What the covariation is divided by to give the relative change of a variance."""


def covariation_at(
    view: View,
    gradient: AbstractGradient,
    state: Any,
    linear: AbstractLinearMap,
    muffled: Callable[[jax.Array], jax.Array],
    pair: tuple[jax.Array, jax.Array],
    key: jax.Array,
    rows: Minibatch,
) -> jax.Array:
    """Return the average of n' (H(z) - H(z')) n over draws n of the noise at z.

    With independent z and z' its expectation is the covariation tr E[(V - E V) (H - E H)]. In the
    sum over both orders of a pair, what their V have in common cancels but for the draws' chance.
    A draw n is the difference of two minibatch gradients, divided by sqrt(2).

    Args:
        view: of the model.
        gradient: the estimator whose noise it is.
        state: of the estimator.
        linear: the preconditioner S.
        muffled: reduces S' g in directions whose noise is to count for less than it is.
        pair: z and z'.
        key: of the two minibatches.
        rows: those of the Hessian.
    """

    def estimate(key: jax.Array) -> jax.Array:
        return gradient.estimate(view.potential, pair[0], view.draw(key), state)[0].gradient

    def draw(key: jax.Array) -> jax.Array:
        one, other = jax.lax.map(estimate, random.split(key))
        move = linear.apply(muffled(linear.transpose((one - other) / 2**0.5)))
        here, there = jax.lax.map(
            lambda z: move @ view.hessian_product_over(z, move, rows), jnp.stack(pair)
        )
        return here - there

    return jnp.mean(jax.lax.map(draw, random.split(key, COVARIATION_DRAWS)))


def partners(points: jax.Array) -> jax.Array:
    """Return another point for each, of another walker: an involution.

    Snapshots of 8 walkers follow each other, so that the reversed order pairs walker w with 7 - w.
    """
    return points[::-1]


def covariation(found: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the covariation and its standard error, from `covariation_at` at all points, (n,).

    Both are 0 for a single point.
    """
    count = len(found) // 2
    if count < 2:
        return jnp.zeros(()), jnp.zeros(())
    pairs = (found + found[::-1])[:count] / 2
    return jnp.mean(pairs), jnp.std(pairs, ddof=1) / count**0.5
