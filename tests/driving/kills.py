"""Processes that are killed at random moments, and folders compared to the byte."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple, final

from numpyro_sgmcmc.folder.zarr_files import NAME

ROOT = Path(__file__).parents[2]
PATIENCE = 300


class End(NamedTuple):
    """How a victim ended: its exit status, what it printed, and the seconds that it ran."""

    status: int
    errors: str
    seconds: float


@final
class Nursery:
    """The process of `nursery.py`, which forks one victim after the other.

    Its compiled programs are kept in the folder `place` and in no other, because a kill can leave a
    part of a program there.
    """

    def __init__(self, place):
        self._errors, self._own, self._read = place / "errors", place / "own", b""
        programs = {
            "JAX_COMPILATION_CACHE_DIR": str(place / "programs"),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        }
        # The process must have a single thread when it forks.
        environment = os.environ | programs | {"OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "tests.driving.nursery", str(self._errors)]
        pipe = subprocess.PIPE
        with self._own.open("wb") as own:
            self._process = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdin=pipe, stdout=pipe, stderr=own, bufsize=0
            )

    def live(self, name, folder, samples, seconds=PATIENCE):
        """Return how a victim ended, which is killed so many seconds after the run began."""
        order = json.dumps([name, str(folder), samples])
        self._process.stdin.write(f"{order}\n".encode())
        answer = self._answer(PATIENCE)
        begin = time.perf_counter()
        if answer is not None and answer[0] == "begins":
            pid, answer = int(answer[1]), self._answer(seconds)
            if answer is None:
                os.kill(pid, signal.SIGKILL)
                answer = self._answer(PATIENCE)
        assert answer is not None and answer[0] == "ended", (answer, self._own.read_text())
        return End(int(answer[1]), self._errors.read_text(), time.perf_counter() - begin)

    def whole(self, name, folder, samples):
        """Return how a victim ended that nobody kills, and that has no errors."""
        end = self.live(name, folder, samples)
        assert end.status == 0, end
        return end

    def close(self):
        """End the process, and a victim that is still there."""
        self._process.stdin.close()
        self._process.wait(PATIENCE)
        self._process.stdout.close()

    def _answer(self, seconds):
        """Return the words of the next answer, or None if there is none after so many seconds."""
        last = time.perf_counter() + seconds
        while b"\n" not in self._read:
            left = max(last - time.perf_counter(), 0)
            if not select.select([self._process.stdout], [], [], left)[0]:
                return None
            more = self._process.stdout.read(4096)
            assert more, self._own.read_text()
            self._read += more
        line, _, self._read = self._read.partition(b"\n")
        return line.decode().split()


def kill_often(nursery, name, folder, samples, kills, rng):
    """Kill a run so many times and let it end; return its folders and the seconds of the last.

    The moments are spread over the seconds that a run takes without a kill, from its beginning,
    measured after its programs were compiled. A run that comes to an end is begun anew in another
    folder.
    """
    folders, done = [folder / "0", folder / "1"], 0
    length = nursery.whole(name, folders[0], samples).seconds
    while done < kills:
        is_new = not folders[-1].exists()
        end = nursery.live(name, folders[-1], samples, rng.uniform(0, length))
        if end.status:
            assert end.status == -signal.SIGKILL, end
            done += 1
            continue
        # Other processes on the machine change how long a run takes.
        length = end.seconds if is_new else length
        folders.append(folder / str(len(folders)))
    return folders, nursery.whole(name, folders[-1], samples).seconds


def content(folder):
    """Return the bytes of every file of a folder's store, by name."""
    store = Path(folder) / NAME
    return {
        str(path.relative_to(store)): path.read_bytes()
        for path in sorted(store.rglob("*"))
        if path.is_file()
    }
