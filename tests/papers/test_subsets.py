"""Minibatches of Durmus et al. (2016): uniform sets of distinct rows, independent of each other."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.papers.subsets import Subset
from numpyro_sgmcmc.types import Plate

ROWS, DRAWS = 1_000, 4_000
Z = 4.0
"""Two-sided, of a normal variable: false failures 6e-5 a comparison."""


def drawn(batch: int, seed: int = 0) -> np.ndarray:
    plates = {"rows": Plate(ROWS, batch)}

    def draw(key):
        return Subset(low=25).draw(key, jnp.zeros((), jnp.int32), plates, ())[0]["rows"]

    return np.asarray(jax.jit(jax.vmap(draw))(jax.random.split(jax.random.key(seed), DRAWS)))


@pytest.mark.parametrize("batch", [10, 100, 1_000])
def test_rows_are_distinct_and_in_range(batch):
    rows = np.sort(drawn(batch), axis=1)
    assert rows.min() >= 0
    assert rows.max() < ROWS
    assert (np.diff(rows, axis=1) > 0).all()


def test_every_row_is_as_likely_as_any_other():
    rows = drawn(100)
    counts = np.bincount(rows.ravel(), minlength=ROWS)
    share = 100 / ROWS
    # A row's count is binomial, and counts have the correlation -1 / (N - 1).
    statistic = ((counts - DRAWS * share) ** 2).sum() / (DRAWS * share * (1 - share))
    assert abs(statistic - ROWS) < Z * np.sqrt(2 * ROWS)


@pytest.mark.parametrize("values", ["random", "sorted", "alternating"])
def test_variance_of_a_mean_has_the_factor_of_draws_without_replacement(values):
    x = np.random.default_rng(1).normal(size=ROWS)
    x = {"random": x, "sorted": np.sort(x), "alternating": (-1.0) ** np.arange(ROWS)}[values]
    means = x[drawn(100)].mean(1)
    exact = x.var() / 100 * (ROWS - 100) / (ROWS - 1)  # with replacement it is a ninth larger
    measured = ((means - x.mean()) ** 2).mean()
    assert abs(measured - exact) < Z * exact * np.sqrt(2 / DRAWS)
    assert abs(means.mean() - x.mean()) < Z * np.sqrt(exact / DRAWS)


def test_a_number_of_rows_without_that_factor_is_refused():
    with pytest.raises(ValueError, match="Expected a factor of 1001 rows; got 25"):
        Subset(low=25).draw(jax.random.key(0), jnp.zeros((), jnp.int32), {"r": Plate(1_001, 5)}, ())
