"""Two processes with servers use one Ray: neither disturbs the other, also when it is killed."""

import os
import signal
import subprocess
import sys
import warnings

import jax
import numpy as np
import pytest
from numpyro.infer import MCMC

from numpyro_sgmcmc import SGHMCSplit
from tests.contract.problem import assert_same
from tests.distributed.driver import AGES, DRAWS, SERVERS, WARMUP, WORKERS
from tests.distributed.problem import data, slow_model
from tests.distributed.test_local import twin
from tests.distributed.test_ray_driver import committed, descendants, is_worker, until

pytestmark = [
    pytest.mark.distributed,
    # Ray's own.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


@pytest.fixture(scope="module")
def address():
    from ray.cluster_utils import Cluster

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = Cluster(initialize_head=True, head_node_args={"num_cpus": 2 * WORKERS})
    yield found.address
    found.shutdown()


def started(folder, address, key):
    """Return a new process with servers."""
    command = [sys.executable, "-m", "tests.distributed.driver", str(folder), address, str(key)]
    return subprocess.Popen(command)


def expected(ages, key):
    """Return the draws of the kernel with these ages, (chain, draw)."""
    slow = SGHMCSplit(slow_model, 1e-3, friction=5.0)
    given = {"num_warmup": WARMUP, "num_samples": DRAWS, "progress_bar": False}
    chains = []
    for chain, own in enumerate(ages):
        mcmc = MCMC(twin(slow, own), **given, num_chains=SERVERS, chain_method="vectorized")
        mcmc.run(jax.random.key(key), data()[0], 0.0)
        chains.append(mcmc.get_samples(group_by_chain=True)["theta"][chain])
    return np.stack(chains)


def test_two_processes_share_an_address(tmp_path, address):
    """One is killed: its workers end, the other's draws are those of its twin, and it goes on."""
    folders = [tmp_path / name for name in ("first", "second")]
    first, second = (started(folder, address, key) for key, folder in enumerate(folders))
    with first, second:
        until(lambda: all(committed(folder) is not None for folder in folders), "no draws")
        workers = {pid for pid in descendants(os.getpid()) if is_worker(pid)}
        assert len(workers) == 2 * WORKERS
        os.kill(first.pid, signal.SIGKILL)
        gone = lambda: sum(map(is_worker, workers)) == WORKERS  # noqa: E731
        until(gone, "workers of the killed process are left")
        assert second.wait() == 0
    before = committed(folders[0])
    ages = np.load(f"{folders[1]}-{AGES}")
    assert_same(committed(folders[1]), expected(ages, 1), rtol=1e-5)
    with started(folders[0], address, 0) as again:
        assert again.wait() == 0
    draws = committed(folders[0])
    assert draws.shape == (SERVERS, DRAWS)
    assert np.array_equal(draws[:, : before.shape[1]], before)
