"""Swaps of neighbouring replicas: their log ratio, the test of a noisy one, and the record."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.state import Swaps

FEWEST_ESTIMATES = 32
"""Smallest number of estimates of a noisy difference.

With the variance estimated from 32, detailed balance of the test holds up to a factor of 1.0002 at
s = 1, 1.0014 at s = 1.5 and 1.008 at s = 2, where a third of the swaps between equal energies is
accepted. From 16 estimates the last two are 1.008 and 1.05.
"""


class LogRatio(NamedTuple):
    """The log ratio of swaps for pairs of replicas, (K - 1,), and what is known of its error.

    Attributes:
        value: estimate of (1 / T_k - 1 / T_(k+1)) (U(z_k) - U(z_(k+1))).
        variance: estimate of its error's variance; None if there is no error.
        freedom: degrees of freedom of that estimate.
    """

    value: jax.Array
    variance: jax.Array | None = None
    freedom: int = 0


def from_estimates(estimates: jax.Array) -> LogRatio:
    """Return the log ratio from independent unbiased estimates (m, K - 1) of it."""
    count = len(estimates)
    variance = jnp.var(estimates, axis=0, ddof=1) / count
    return LogRatio(jnp.mean(estimates, axis=0), variance, count - 1)


def accepted(key: jax.Array, ratio: LogRatio) -> jax.Array:
    """Return which swaps are accepted: log u < ratio - penalty, with u uniform; (K - 1,) booleans.

    Let the log ratio be known with a normal error of variance s^2. The acceptance probability
    a(x) = E min(1, exp(x + s Z - s^2 / 2)) = Phi(x / s - s / 2) + e^x Phi(-x / s - s / 2) satisfies
    a(x) = e^x a(-x), so that swaps keep the joint distribution of the replicas exactly (Ceperley
    and Dewing 1999). Without the penalty s^2 / 2 the factor is not e^x.

    If s^2 is replaced by an estimate v with n degrees of freedom, the penalty is v / 2 + v^2 / (4
    (n + 2)) + v^3 / (3 (n + 2) (n + 4)). These are the first terms of minus the logarithm of an
    unbiased estimate of exp(-s^2 / 2); Ceperley and Dewing give them for n + 1 samples. A ratio
    that is not a number is not accepted.
    """
    value = ratio.value
    if ratio.variance is not None:
        v, n = ratio.variance, float(ratio.freedom)
        value = value - v / 2 - v**2 / (4 * (n + 2)) - v**3 / (3 * (n + 2) * (n + 4))
    # 1 - u is in (0, 1].
    u = random.uniform(key, value.shape, value.dtype, 0.0, 1.0)
    return jnp.log1p(-u) < value


def permutation(taken: jax.Array) -> jax.Array:
    """Return the old places (K,) of the positions after disjoint swaps (K - 1,) of neighbours."""
    never = jnp.zeros(1, bool)
    up, down = jnp.concatenate([taken, never]), jnp.concatenate([never, taken])
    return jnp.arange(len(up)) + up.astype(jnp.int32) - down.astype(jnp.int32)


def proposed(swaps: Swaps) -> jax.Array:
    """Return the pairs (K - 1,) whose turn it is in this round."""
    return jnp.arange(len(swaps.proposed)) % 2 == swaps.rounds % 2


def recorded(swaps: Swaps, turn: jax.Array, taken: jax.Array, ratio: LogRatio) -> Swaps:
    """Return the record after a round with these swaps proposed and taken."""
    labels = swaps.labels[permutation(taken)]
    top, bottom = labels[-1], labels[0]
    from_above = swaps.from_above.at[top].set(True)
    count = swaps.proposed + turn.astype(jnp.int32)
    noise = swaps.noise
    if ratio.variance is not None:
        share = jnp.where(turn, 1.0, 0.0).astype(noise.dtype) / jnp.maximum(count, 1)
        noise = noise + share * (ratio.variance.astype(noise.dtype) - noise)
    return Swaps(
        rounds=swaps.rounds + 1,
        proposed=count,
        accepted=swaps.accepted + taken.astype(jnp.int32),
        noise=noise,
        labels=labels,
        from_above=from_above.at[bottom].set(False),
        round_trips=swaps.round_trips + from_above[bottom].astype(jnp.int32),
    )


def swapped(key: jax.Array, ratio: LogRatio, swaps: Swaps, moving: Any) -> tuple[Any, Swaps]:
    """Return a pytree with a leading axis of replicas after a round of swaps, and the record."""
    turn = proposed(swaps)
    taken = turn & accepted(key, ratio)
    order = permutation(taken)
    return jax.tree.map(lambda leaf: leaf[order], moving), recorded(swaps, turn, taken, ratio)
