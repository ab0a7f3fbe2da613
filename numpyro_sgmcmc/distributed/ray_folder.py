"""The temporary folder of a Ray that is started here, with a lock that tells if it is in use."""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, final

try:
    import fcntl
except ImportError:  # Windows, where folders of killed processes stay
    fcntl = None

PREFIX = "sgmcmc-ray-"
TRIES = 10
"""Folders that are made until one can be locked. All fail where a file system has no locks."""


@final
class RayFolder:
    """A new folder among the temporary ones, for one Ray.

    The process holds an exclusive lock on it, which the operating system gives up when the process
    ends, also if it is killed. This is safer than a process's number and start, which another
    container that shares the folder cannot see.
    """

    def __init__(self) -> None:
        for tried in range(TRIES):
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
            self._lock = _locked(self.path)
            # Another process may have taken it for a stale one before it was locked.
            if (self._lock is not None and _is_at(self.path, self._lock)) or tried == TRIES - 1:
                return
            self.remove()

    def remove(self) -> None:
        """Remove the folder with all files."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def remove_stale() -> list[Path]:
    """Remove folders whose process has ended without doing so, and return them.

    Ray's last processes may still write to such a folder for a minute. What they leave is removed
    by the next call.
    """
    removed = []
    for path in sorted(Path(tempfile.gettempdir()).glob(f"{PREFIX}*")):
        lock = _locked(path)
        if lock is not None:
            shutil.rmtree(path, ignore_errors=True)
            os.close(lock)
            removed.append(path)
    return removed


def _locked(path: Path) -> int | None:
    """Return the open folder, locked; None if a process holds it, or it is another user's."""
    if fcntl is None:
        return None
    system: Any = fcntl
    try:
        # Programs that are started from here do not inherit the descriptor, and so not the lock.
        found = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        system.flock(found, system.LOCK_EX | system.LOCK_NB)
    except OSError:
        os.close(found)
        return None
    return found


def _is_at(path: Path, opened: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(opened))
    except FileNotFoundError:
        return False
