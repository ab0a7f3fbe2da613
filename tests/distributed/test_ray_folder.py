"""Folders of a Ray whose process was killed are removed later; those of live ones never."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from numpyro_sgmcmc.distributed import ray_folder
from numpyro_sgmcmc.distributed.ray_folder import PREFIX, RayFolder, remove_stale

HOLDER = """
import sys
from numpyro_sgmcmc.distributed.ray_folder import RayFolder
folder = RayFolder()
(folder.path / "session").mkdir()
(folder.path / "session" / "log").write_text("Ray's")
print(folder.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    """Let temporary folders be here, so that no other run's are looked at."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_only_folders_of_ended_processes_are_removed(temporary):
    other = temporary / "somebody-elses"
    other.mkdir()
    link = temporary / f"{PREFIX}link"
    link.symlink_to(other)
    given = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with subprocess.Popen([sys.executable, "-c", HOLDER], env=environment, **given) as holder:
        path, mine = Path(holder.stdout.readline().strip()), RayFolder()
        assert path.parent == temporary and path.exists()
        assert remove_stale() == []
        os.kill(holder.pid, signal.SIGKILL)
    assert remove_stale() == [path]
    assert not path.exists() and mine.path.exists() and other.exists() and link.exists()
    mine.remove()
    assert not mine.path.exists()
    assert remove_stale() == []


@pytest.mark.parametrize("when", ["before the lock", "during the lock"])
def test_a_folder_that_is_taken_for_a_stale_one_while_it_is_made_is_made_again(monkeypatch, when):
    """Another process may clean up between the folder and its lock."""
    locked, taken = ray_folder._locked, []

    def late(path):
        if taken:
            return locked(path)
        taken.append(path)
        if when == "during the lock":
            return None
        path.rmdir()
        path.mkdir()  # the same name again, which is another folder
        found = locked(path)
        path.rmdir()
        return found

    monkeypatch.setattr(ray_folder, "_locked", late)
    folder = RayFolder()
    assert folder.path != taken[0] and folder.path.exists()
    monkeypatch.undo()
    folder.remove()


def test_without_file_locks_nothing_is_removed(temporary, monkeypatch):
    stale = temporary / f"{PREFIX}stale"
    stale.mkdir()
    monkeypatch.setattr(ray_folder, "fcntl", None)
    folder = RayFolder()
    assert remove_stale() == [] and stale.exists()
    assert sorted(temporary.iterdir()) == sorted([stale, folder.path])
    folder.remove()
    assert not folder.path.exists()
