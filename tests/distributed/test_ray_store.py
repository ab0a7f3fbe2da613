"""Data that have no room: neither in Ray's object store nor on the disk that it writes to then."""

import time
import warnings

import numpy as np
import pytest

from numpyro_sgmcmc import SGHMCSplit
from numpyro_sgmcmc.distributed.job import model_of
from numpyro_sgmcmc.distributed.ray_pool import RayPool
from numpyro_sgmcmc.distributed.ray_start import RayOptions
from tests.distributed.on_ray import QUIET
from tests.distributed.problem import model

pytestmark = [
    pytest.mark.distributed,
    # Ray's own.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
FULL = {"local_fs_capacity_threshold": 1e-4}
"""Ray takes a disk for full that is used to a ten thousandth."""


@pytest.fixture
def small_store():
    """A Ray whose object store has 80 MiB, and whose disk is full."""
    import ray

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        store = {"object_store_memory": 80 * 2**20, "_system_config": FULL}
        ray.init(address="local", num_cpus=1, **store, **QUIET)
    yield
    ray.shutdown()


def test_a_full_object_store_is_an_error_with_remedies_in_time(small_store):
    kernel, y = SGHMCSplit(model, 1e-3, friction=5.0), np.zeros(60_000_000, np.float32)
    pool = RayPool(RayOptions(1, None, 30.0), model_of(kernel, (y,), {}))
    begin = time.perf_counter()
    with pytest.raises(RuntimeError, match=r"(?s)for 240 MB .*disk is full.* rows in a file"), pool:
        pass
    assert time.perf_counter() - begin < 60
