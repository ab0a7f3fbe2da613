"""A node of a cluster vanishes with its workers: the run goes on elsewhere, or ends with an error.

The cluster is one of Ray's own processes on this machine, one set of them for each node. The driver
is on the head, which has no CPU for workers.
"""

import time
import warnings

import jax
import pytest
from numpyro.infer import MCMC

from numpyro_sgmcmc import SGHMCSplit
from tests.contract.problem import assert_same
from tests.distributed.local import counts_of
from tests.distributed.on_ray import run_on_ray
from tests.distributed.problem import data, slow_model
from tests.distributed.test_local import twin

pytestmark = [
    pytest.mark.distributed,
    # Ray's own.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
WORKERS, DRAWS, SECONDS = 2, 150, 0.03
START = 120.0
"""Seconds for a node to start on a busy machine; it takes a few on an idle one."""
CHECKS = {
    "health_check_initial_delay_ms": 1_000,
    "health_check_period_ms": 500,
    "health_check_timeout_ms": 2_000,
    "health_check_failure_threshold": 5,
}
"""Ray asks a node whether it lives more often than by default, which takes 20 s longer."""
NOTICED = 60.0
"""Seconds within which Ray notices that a node is gone and starts a worker on a busy machine."""
TIMEOUT = 30.0


@pytest.fixture(scope="module")
def cluster():
    import ray
    from ray.cluster_utils import Cluster

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        head = {"num_cpus": 0, "_system_config": CHECKS}
        found = Cluster(initialize_head=True, head_node_args=head)
        ray.init(address=found.address, log_to_driver=False)
    yield found
    ray.shutdown()
    found.shutdown()


def with_node(cluster):
    """Return a new node with a CPU for each worker."""
    import ray

    name = f"node {time.perf_counter()}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # JAX warns of forks, and Ray executes another program
        node = cluster.add_node(wait=False, num_cpus=WORKERS, resources={name: 1})
    until = time.perf_counter() + START
    while name not in ray.cluster_resources():
        assert time.perf_counter() < until, "the node has not started"
        time.sleep(0.1)
    return node


def without_node(cluster, node):
    """Kill all processes of a node at once."""
    cluster.remove_node(node, allow_graceful=False)


def run(cluster, node, before=None):
    """Return a run whose workers' node vanishes, and when it did."""
    slow, times, gone = SGHMCSplit(slow_model, 1e-3, friction=5.0), [], []

    def vanish(pool):
        while len(times) < DRAWS // 3:
            time.sleep(0.01)
        without_node(cluster, node)
        gone.append(time.perf_counter())

    counts = counts_of(workers=WORKERS, samples=DRAWS)
    given = {"before": before, "during": vanish, "timed": times, "timeout": TIMEOUT}
    try:
        return run_on_ray(slow, (*data(), SECONDS), counts, WORKERS, **given)
    finally:
        print(f"ended {time.perf_counter() - gone[0]:.1f} s after the node had gone")
        assert time.perf_counter() - gone[0] < NOTICED + TIMEOUT


def test_the_run_goes_on_elsewhere(cluster):
    """Another node joins when the workers have their places. Draws are those of the twin."""
    first, others = with_node(cluster), []
    found = run(cluster, first, before=lambda: others.append(with_node(cluster)))
    without_node(cluster, others[0])
    assert "ended" in found.run.outcome.notes[0]
    slow = SGHMCSplit(slow_model, 1e-3, friction=5.0)
    mcmc = MCMC(twin(slow, found.ages[0]), num_warmup=3, num_samples=DRAWS, progress_bar=False)
    mcmc.run(jax.random.key(0), data()[0], 0.0)
    assert_same(found.run.draws, mcmc.get_samples(group_by_chain=True), rtol=1e-5)


def test_without_another_node_an_error_names_the_remedy(cluster):
    node = with_node(cluster)
    with pytest.raises(RuntimeError, match=r"Use fewer `num_workers`, add nodes, or raise"):
        run(cluster, node)
