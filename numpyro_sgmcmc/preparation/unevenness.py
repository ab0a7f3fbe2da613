"""How much gradient noise a correction can take out where noise differs over the posterior.

A correction takes out the average V of the noise's variance. With the share s of heating a walker
at z then has the temperature 1 + e(z), e = s (V(z) / V - 1), along the noisy direction, which
changes the mean of f by E[e phi''] to first order, where phi solves L phi = f - E f with the
dynamics' generator L.

Along a direction in which the posterior is Gaussian phi'' is constant for f = x and f = x^2, so
that means and variances do not change. With the curvature U'' = 1 + c(x) instead, phi'' for f = x
has a standard deviation of at most sd(c) / 2: with c = sum_n n g_n He_{n-1}(x) it is
sum_n g_n (n - 1) He_{n-2}(x), whose terms have sqrt(n - 1) / n <= 1 / 2 times the norm. The mean
therefore moves by at most s sd(V(z) / V) sd(c) / 2 standard deviations.

On a Gaussian with V(z) = V (1 + a (z^2 - 1)) the exact equations for the moments give the
variance 1 and the fourth moment 3 (1 - s a) / (1 - 3 s a): tails become heavy where s a is not
small. To first order the density is that of U(z) = z^2 / 2 + s a (3 z^2 / 2 - z^4 / 4), which is
narrower in its middle: the scale that a verdict measures with little weight on tails is 0.46 s a
smaller, 0.33 s sd(V(z) / V).

Noisy directions of many effects may each be a mixture of them, over which V(z) averages out. The
same is therefore measured for single coordinates, each along the direction that moves it.

Many effects that share a scale add up, also where each is Gaussian: the variance of the scale
changes by s C / 3 (`covariation.py`).
"""

from typing import Any

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.correction import AbstractCorrection
from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.gradient import AbstractGradient, Anchor
from numpyro_sgmcmc.identity import identity_of
from numpyro_sgmcmc.preconditioner import AbstractLinearMap
from numpyro_sgmcmc.preparation.covariation import (
    CHANGE_OF_VARIANCE,
    covariation,
    covariation_at,
    partners,
)
from numpyro_sgmcmc.preparation.target import Target, View
from numpyro_sgmcmc.preparation.thresholds import (
    CAUTION_ABOUT_NOISE,
    CORRECTED_SHARE,
    COVARIATION_ROWS,
    DENSE_DIMENSION,
    EVEN_SHARE,
    NOISE_BATCH,
    NOISY_COORDINATES,
    NOISY_DIRECTIONS,
    SHARE_ALONE,
    TOLERANCE,
    UNEVEN_DRAWS,
    UNEVENNESS,
    UNEVENNESS_ALONE,
)


def correctable_share(
    target: Target,
    key: jax.Array,
    gradient: AbstractGradient,
    preconditioner: AbstractLinearMap,
    anchor: Anchor | None,
    points: jax.Array,
    correction: AbstractCorrection,
    loudest: jax.Array,
) -> jax.Array:
    """Return the largest share of heating, in the noisiest direction, that may be taken out.

    The measured average V has a relative error as well, which the share multiplies. Every
    coordinate has one, and the largest of them counts: `CAUTION_ABOUT_NOISE` standard errors.

    Args:
        target: the model bound to its data.
        key: of minibatches and rows.
        gradient: the estimator.
        preconditioner: S.
        anchor: of the estimator, None if it needs none.
        points: positions typical of the posterior, (points, d).
        correction: V.
        loudest: variance whose direction has that share. Directions with more are slowed down until
            they have no more.
    """
    directions = correction.noisiest(NOISY_DIRECTIONS)

    def measure(view: View, *inputs: Any) -> tuple[jax.Array, jax.Array, jax.Array]:
        return _by_point(view, gradient, *inputs)

    inputs = anchor, preconditioner, points, directions, correction, loudest, key
    name = "unevenness", identity_of(gradient)
    # In many dimensions its runs, one after each window, take longer than its optimisation.
    is_large = points.shape[1] > DENSE_DIMENSION
    found = target.run(measure, *inputs, name=name, optimise=is_large)
    return _share(*found, loudest)


def _by_point(
    view: View,
    gradient: AbstractGradient,
    anchor: Anchor | None,
    linear: AbstractLinearMap,
    points: jax.Array,
    directions: jax.Array,
    correction: AbstractCorrection,
    loudest: jax.Array,
    key: jax.Array,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return variances of the noise, curvatures, and how noise and curvature vary together.

    These are (points, 2, directions + coordinates), (points, directions) and (points,). The two
    variances are of different minibatches.
    """
    key_rows, key_noise, key_pairs, key_few = random.split(key, 4)
    moves = jax.vmap(linear.apply)(directions)
    looked_at = jnp.concatenate([moves, jax.vmap(linear.apply)(_coordinates(linear, directions))])
    state = gradient.init(view, points[-1], anchor)
    rows, few = view.many_rows(key_rows), view.many_rows(key_few, COVARIATION_ROWS)

    def muffled(noise: jax.Array) -> jax.Array:
        def excess(variance: jax.Array) -> jax.Array:
            return jnp.where(variance > loudest, 1 - loudest / variance, 0.0)

        return correction.reduce(noise, excess)

    def one(inputs: Any) -> tuple[jax.Array, jax.Array, jax.Array]:
        position, partner, key, key_pair = inputs

        def draw(key: jax.Array) -> jax.Array:
            estimate, _ = gradient.estimate(view.potential, position, view.draw(key), state)
            return looked_at @ estimate.gradient

        draws = jax.lax.map(draw, random.split(key, UNEVEN_DRAWS), batch_size=NOISE_BATCH)
        bends = jax.lax.map(
            lambda move: move @ view.hessian_product_over(position, move, rows), moves
        )
        pair = position, partner
        together = covariation_at(view, gradient, state, linear, muffled, pair, key_pair, few)
        return jnp.var(draws.reshape(2, -1, len(looked_at)), axis=1, ddof=1), bends, together

    keys = [random.split(each, len(points)) for each in (key_noise, key_pairs)]
    return jax.lax.map(one, (points, partners(points), *keys))


def _coordinates(linear: AbstractLinearMap, directions: jax.Array) -> jax.Array:
    """Return unit vectors along which single coordinates move, as rows.

    The coordinates are those with the largest entries in the noisy directions. With x = S y,
    coordinate j is x_j = (S' e_j) . y. Entries of y stand for those of x, which S hardly mixes.
    """
    count = min(NOISY_COORDINATES, directions.shape[1])
    _, places = jax.lax.top_k(jnp.max(jnp.abs(directions), axis=0), count)
    units = jax.nn.one_hot(places, directions.shape[1], dtype=directions.dtype)
    (found,) = jax.vmap(jax.linear_transpose(linear.apply, units[0]))(units)
    return found / jnp.linalg.norm(found, axis=1, keepdims=True)


@jax.jit
def _share(
    variances: jax.Array, curvatures: jax.Array, together: jax.Array, loudest: jax.Array
) -> jax.Array:
    """Return the largest share, from what `_by_point` returns.

    The two variances at a position differ from each other by chance alone, however heavy the tails
    of the noise are, so that their covariance over positions is the variance of V(z).
    """
    tiny = jnp.finfo(variances.dtype).tiny
    number = curvatures.shape[1]
    mean, away, square = _unevenness(variances[:, :, :number])
    uneven = jnp.sqrt(jnp.maximum(square, 0.0))
    unknown = CAUTION_ABOUT_NOISE * jnp.std(away, axis=0, ddof=1) / len(variances) ** 0.5
    bend = jnp.mean(curvatures, axis=0)
    bending = jnp.std(curvatures, axis=0, ddof=1) / jnp.where(bend > 0, bend, jnp.inf)
    bending = jnp.where(bend > 0, bending, jnp.inf)
    moved = jnp.where(uneven > 0, uneven * bending / 2, 0.0)
    part = mean / jnp.max(mean)  # a direction's share of that of the noisiest
    worst = jnp.max(part * jnp.maximum(moved, unknown))
    change, error = covariation(together)
    shared = (jnp.abs(change) + error) / (CHANGE_OF_VARIANCE * jnp.maximum(loudest, tiny))
    worst = jnp.maximum(worst, jnp.where(jnp.isfinite(shared), shared, jnp.inf))
    even = UNEVENNESS / jnp.maximum(jnp.max(part * uneven), tiny)
    most = jnp.clip(even, EVEN_SHARE, CORRECTED_SHARE)
    uneven_alone = _of_coordinates(variances[:, :, number:], loudest)
    alone = jnp.maximum(UNEVENNESS_ALONE / jnp.maximum(uneven_alone, tiny), SHARE_ALONE)
    return jnp.minimum(jnp.minimum(most, alone), TOLERANCE / 2 / jnp.maximum(worst, tiny))


def _unevenness(variances: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return V, V(z) / V - 1 by position with errors, and the variance of V(z) / V.

    They are (directions,), (points, directions) and (directions,).
    """
    means = jnp.mean(variances, axis=0)
    mean = jnp.mean(means, axis=0)
    away = (variances - means) / jnp.where(mean > 0, mean, 1.0)
    square = jnp.sum(away[:, 0] * away[:, 1], axis=0) / (len(variances) - 1)
    return mean, jnp.mean(away, axis=1), square


def _of_coordinates(variances: jax.Array, loudest: jax.Array) -> jax.Array:
    """Return sd(V(z) / V) of coordinates, each times its part of the loudest noise, on average.

    Single coordinates have few minibatches, so that the largest of their values is mostly chance.
    A coordinate with more noise than `loudest` is slowed down until it has no more.
    """
    mean, _, square = _unevenness(variances)
    part = jnp.minimum(mean / jnp.maximum(loudest, jnp.finfo(mean.dtype).tiny), 1.0)
    total = jnp.sum(part**2 * square) / max(len(mean), 1)
    return jnp.sqrt(jnp.maximum(total, 0.0))
