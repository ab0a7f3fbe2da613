"""Means of batches are weighted averages of the draws that belong to them."""

import numpy as np
import pytest

from numpyro_sgmcmc.verdict.batches import batches_of

CHAINS, DRAWS = 3, 101
EVERY = np.arange(CHAINS * DRAWS)


def weights_of(rng):
    """Weights, of which some are 0."""
    return np.where(rng.random((CHAINS, DRAWS)) < 0.1, 0.0, rng.random((CHAINS, DRAWS)))


@pytest.mark.parametrize("is_together", [False, True])
@pytest.mark.parametrize("every", [1, 7, 90])
def test_means_are_weighted_averages(is_together, every):
    rng = np.random.default_rng(0)
    weights, series = weights_of(rng), rng.normal(size=(CHAINS * DRAWS, 4))
    batches = batches_of(weights, is_together)
    places = EVERY[::every]
    found = batches.means(series) if every == 1 else batches.means(series[places], places)
    flat = weights.reshape(-1)
    for batch, mean in enumerate(found):
        own = places[batches.label[places] == batch]
        total = flat[own].sum()
        expected = flat[own] @ series[own] / total if total else np.zeros(4)
        np.testing.assert_allclose(mean, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("is_together", [False, True])
def test_batches_are_stretches_of_a_chain_or_of_all_chains(is_together):
    batches = batches_of(weights_of(np.random.default_rng(1)), is_together)
    label = batches.label.reshape(CHAINS, DRAWS)
    assert np.all(np.isin(np.diff(label), (0, 1)))
    assert len({tuple(one) for one in label}) == (1 if is_together else CHAINS)
    assert set(label.ravel()) == set(range(len(batches.mass)))
    assert batches.mass.sum() == pytest.approx(1)
