"""The lock of a folder, which ends with the process that holds it."""

import os
import socket
from pathlib import Path
from types import TracebackType
from typing import final

NAME = "lock"


@final
class Lock:
    """An exclusive lock on a folder, by `flock`.

    The operating system lets go of it when the process ends, however it ends. A folder on a network
    is locked as well as its file system does that.

    Args:
        folder: the folder. It is created if it does not exist.

    Raises:
        OSError: if the folder cannot be created or written to.
        RuntimeError: if another run holds the lock.
    """

    def __init__(self, folder: Path) -> None:
        try:
            import fcntl
        except ImportError as error:
            raise RuntimeError(
                "Expected a system with file locks (Linux, macOS) to run with a `folder`; got one"
                " without. Leave `folder` out."
            ) from error
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = (folder / NAME).open("a+")
        except OSError as error:
            raise OSError(
                error.errno,
                f"Expected a folder that can be written to; got {str(folder)!r}:"
                f" {error.strerror}. Choose another `folder`",
            ) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.seek(0)
            owner = self._file.read().strip() or "another process"
            self._file.close()
            raise RuntimeError(
                f"Expected a folder that no other run writes to; {str(folder)!r} is in use by"
                f" {owner}. Wait for that run, or choose another `folder`. `open_run` reads a"
                " folder at any time."
            ) from None
        self._file.truncate(0)
        self._file.write(f"process {os.getpid()} on {socket.gethostname()}")
        self._file.flush()

    def __enter__(self) -> "Lock":
        return self

    def __exit__(
        self, kind: type | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
