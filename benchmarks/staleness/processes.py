"""Transitions a second of one and of two processes with servers that share one Ray.

    python -m benchmarks.staleness.processes

The gradients sleep for 20 ms, so that more workers than cores compute at the same time. A rate is
that of the commits in a process's folder, from the first one that all processes have.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from numpyro_sgmcmc.folder import Damaged, newest

CASES = {
    "1 process, 1 server, 4 workers": [(1, 4)],
    "2 processes, each with 1 server, 4 workers": [(1, 4)] * 2,
    "1 process, 2 servers, 8 workers": [(2, 8)],
}
ROUNDS, SECONDS, GRADIENT, CPUS = 2, 8.0, 0.02, 8
DRIVER = """
import sys, warnings
warnings.simplefilter("ignore")
import jax
from numpyro_sgmcmc import AsyncMCMC, SGHMCSplit
from tests.distributed.problem import data, slow_model
folder, address, key, servers, workers, gradient = sys.argv[1:]
AsyncMCMC(SGHMCSplit(slow_model, 1e-3, friction=5.0), num_warmup=0, num_samples=100_000,
    num_servers=int(servers), num_workers=int(workers), folder=folder, every=0.2,
    address=address, progress_bar=False,
).run(jax.random.key(int(key)), *data(), float(gradient))
"""


def _transitions(folder: Path) -> int:
    """Return the committed transitions of each server."""
    try:
        found = newest(folder)
    except Damaged:  # the process replaces it
        return 0
    return 0 if found is None else found[0].iterations


def rate(address: str, case: list[tuple[int, int]]) -> float:
    """Return the transitions a second of all servers of all processes."""
    with tempfile.TemporaryDirectory() as place:
        folders = [Path(place) / str(number) for number in range(len(case))]
        processes = [
            subprocess.Popen(
                [sys.executable, "-c", DRIVER, str(folder), address, str(key)]
                + [str(each) for each in (*one, GRADIENT)]
            )
            for key, (folder, one) in enumerate(zip(folders, case, strict=True))
        ]
        try:
            while not all(map(_transitions, folders)):
                if any(process.poll() is not None for process in processes):
                    raise RuntimeError("Expected processes that run; got one that has ended.")
                time.sleep(0.1)
            seen: list[list[tuple[float, int]]] = [[] for _ in case]
            end = time.perf_counter() + SECONDS
            while time.perf_counter() < end:
                for own, folder in zip(seen, folders, strict=True):
                    count = _transitions(folder)
                    if not own or count > own[-1][1]:
                        own.append((time.perf_counter(), count))
                time.sleep(0.01)
        finally:
            for process in processes:
                process.kill()
                process.wait()
    total = 0.0
    for (servers, _), own in zip(case, seen, strict=True):
        if len(own) < 3:
            raise RuntimeError(
                f"Expected at least 3 commits of each process in {SECONDS:g} s; got {len(own)}."
                " Run on a less busy machine."
            )
        # The first one had been there for a while.
        (begin, first), (last, count) = own[1], own[-1]
        total += servers * (count - first) / (last - begin)
    return total


def main() -> None:
    """Print the rates, round by round."""
    from ray.cluster_utils import Cluster  # pyright: ignore[reportMissingImports]

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": CPUS})
    try:
        for _ in range(ROUNDS):
            for name, case in CASES.items():
                print(f"{name}: {rate(cluster.address, case):.0f} a second", flush=True)
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    main()
