"""The score of an arm: its draws' discrepancy, and how well it is known."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

BLOCKS = 16
"""Stretches of consecutive draws, which are left out one at a time."""


class Score(NamedTuple):
    """A squared kernel Stein discrepancy, as a V-statistic, and its standard error."""

    value: jax.Array
    error: jax.Array


def score_of(gram: jax.Array) -> Score:
    """Return the mean of `stein_gram` and its standard error by the jackknife over blocks.

    With block b left out of the n draws the mean is (S - 2 R_b + D_b) / (n - n_b)^2, where S is the
    sum of all entries, R_b of the block's rows and D_b of those that are in its columns as well.
    """
    count = len(gram)
    block = jnp.arange(count) * BLOCKS // count
    member = (block == jnp.arange(BLOCKS)[:, None]).astype(gram.dtype)
    rows = member @ gram
    within = jnp.sum(rows * member, axis=1)
    left = count - member.sum(1)
    without = (gram.sum() - 2 * rows.sum(1) + within) / left**2
    spread = jnp.sum((without - without.mean()) ** 2)
    return Score(gram.mean(), jnp.sqrt((BLOCKS - 1) / BLOCKS * spread))
