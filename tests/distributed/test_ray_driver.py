"""The process of the servers is killed: its workers end, and another one goes on in the folder."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from numpyro_sgmcmc import open_run
from numpyro_sgmcmc.distributed.ray_folder import PREFIX
from numpyro_sgmcmc.results.entries import attributes_of
from tests.distributed.driver import DRAWS, SERVERS, WORKERS, run_in

pytestmark = [
    pytest.mark.distributed,
    # Ray's own.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
PATIENCE = 120.0
"""Seconds that a wait may take on a busy machine."""


def until(condition, what):
    """Wait until a condition holds."""
    end = time.perf_counter() + PATIENCE
    while not (found := condition()):
        assert time.perf_counter() < end, what
        time.sleep(0.05)
    return found


def committed(folder):
    """Return the draws in a folder, or None if there are none yet."""
    try:
        draws = np.asarray(open_run(folder)["posterior"]["theta"])
    except (ValueError, FileNotFoundError, KeyError):
        return None
    return draws if draws.size else None


def descendants(pid):
    """Return the numbers of all processes that a process and its children have started."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found += [int(child), *descendants(int(child))]
    return found


def is_worker(pid):
    """Return whether a process computes gradients; two agents of Ray live for a minute more."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().startswith("ray::GradientWorker")
    except (FileNotFoundError, ProcessLookupError):
        return False


def folders_of_ray(pid):
    """Return the temporary folders that a process holds locked."""
    opened = [os.readlink(one) for one in Path(f"/proc/{pid}/fd").iterdir() if one.is_symlink()]
    return [Path(one) for one in opened if Path(one).name.startswith(PREFIX)]


def test_killed_servers_go_on_from_their_last_commit(tmp_path):
    """All servers of a run are in one process. No worker outlives it, nor does its Ray's folder."""
    command = [sys.executable, "-m", "tests.distributed.driver", str(tmp_path / "run")]
    with subprocess.Popen(command) as driver:
        has_draws = lambda: committed(tmp_path / "run") is not None  # noqa: E731
        until(lambda: driver.poll() is not None or has_draws(), "no draw was committed")
        assert driver.poll() is None
        workers = [pid for pid in descendants(driver.pid) if is_worker(pid)]
        (left,) = folders_of_ray(driver.pid)
        os.kill(driver.pid, signal.SIGKILL)
    assert len(workers) == WORKERS
    until(lambda: not any(map(is_worker, workers)), "workers of the killed run are left")
    before = committed(tmp_path / "run")
    count = before.shape[1]
    assert 0 < count < DRAWS
    assert list(left.glob("session_*"))
    run = run_in(tmp_path / "run")
    assert not list(left.glob("session_*/sockets/*"))
    draws = run.get_samples(group_by_chain=True)["theta"]
    assert draws.shape == (SERVERS, DRAWS)
    assert np.array_equal(draws[:, :count], before)
    # No transition is taken twice: the rest follows the state of the commit.
    assert [len(ages) for ages in run.ages] == [DRAWS - count] * SERVERS
    assert attributes_of(open_run(tmp_path / "run"))["stopped"] == "complete"
