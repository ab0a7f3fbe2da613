"""The figure with two workers of Ray on a small network: its twin has the same weights."""

import jax
import numpy as np
import pytest

from benchmarks.papers.p001_ray_runs import by_ray, by_twin
from tests.papers.small_network import network

pytestmark = [
    pytest.mark.distributed,
    # Ray's own.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
CURVATURE = np.full(12, 20.0)


@pytest.mark.parametrize(
    ("servers", "remedy"), [(1, {"remedy": "curvature", "curvature": CURVATURE}), (2, {})]
)
def test_the_twin_with_rays_ages_has_the_same_weights(servers, remedy):
    net = network(iterations=40, every=20)
    course = by_ray(net, servers, **remedy)
    assert course.ages.shape == (servers, 80 // servers)
    assert np.any(course.ages) == (servers == 1)
    twin = by_twin(net, course.ages, **remedy)
    assert course.weights.shape == twin.shape == (servers, 2, 12)
    # Rounding, which the transitions do not amplify here.
    np.testing.assert_allclose(course.weights, twin, rtol=1e-4, atol=1e-5)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(twin))
