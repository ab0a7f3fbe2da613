"""The fields by which a covariance is measured where there are many coordinates."""

import numpy as np

from numpyro_sgmcmc.subspace import Group
from numpyro_sgmcmc.verdict.fields import wide_fields


def test_draws_of_few_directions_give_finite_fields():
    """Chains that hardly move leave a singular matrix, whose eigenvalues are rounded below 0."""
    rng = np.random.default_rng(0)
    groups = (*[Group(1, 1)] * 6, *[Group(2_000, 1)] * 2)
    few = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 4_006))
    few[:, 6:] = few[:, 6:7] + few[:, 7:8] * (np.arange(4_000) < 2_000)  # Effects move together.
    draws = few.astype(np.float32)
    draws -= draws.mean(0)
    scale = draws.std(0)
    fields = wide_fields(groups, draws, scale, np.full(200, 1 / 200))
    assert np.all(np.isfinite(fields.wide.matrix))
