"""Processes that are killed at random moments, and folders compared to the byte."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from numpyro_sgmcmc.folder.zarr_files import NAME

ROOT = Path(__file__).parents[2]
PATIENCE = 300


def start(name, folder, samples):
    """Start a victim and return it once the run begins."""
    command = [sys.executable, "-m", "tests.driving.victim", name, str(folder), str(samples)]
    victim = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert victim.stdout.readline() == "begins\n", victim.communicate()[1]
    return victim


def killed(name, folder, samples, seconds):
    """Return whether a victim was killed after so many seconds; it may have ended before."""
    victim = start(name, folder, samples)
    timer = threading.Timer(seconds, os.kill, (victim.pid, signal.SIGKILL))
    timer.start()
    _, errors = victim.communicate(timeout=PATIENCE)
    timer.cancel()
    if victim.returncode == 0:
        return False
    assert victim.returncode == -signal.SIGKILL, errors
    return True


def kill_often(name, folder, samples, kills, rng):
    """Kill a run so many times and let it end; return the kills and the time of the whole.

    The moments are spread over the run: the first seconds are the beginning of the process, and a
    run that comes to an end is begun anew in another folder.
    """
    done, finished, longest = 0, [], 8.0
    while done < kills:
        begin = time.perf_counter()
        if killed(name, folder, samples, rng.uniform(0, longest)):
            done += 1
            continue
        longest = time.perf_counter() - begin
        finished.append(folder)
        folder = folder.with_name(f"{folder.name}-{len(finished)}")
    begin = time.perf_counter()
    while killed(name, folder, samples, PATIENCE):
        raise AssertionError("a run did not end")
    return [*finished, folder], time.perf_counter() - begin


def content(folder):
    """Return the bytes of every file of a folder's store, by name."""
    store = Path(folder) / NAME
    return {
        str(path.relative_to(store)): path.read_bytes()
        for path in sorted(store.rglob("*"))
        if path.is_file()
    }
