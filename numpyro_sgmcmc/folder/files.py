"""Files that are there as a whole or not at all."""

import hashlib
import os
from pathlib import Path

UNFINISHED = ".unfinished"
"""Ending of a file that is being written."""


def write_whole(path: Path, content: bytes, *, lasting: bool = True) -> None:
    """Write a file so that a reader finds either the old content or the new.

    A lasting file has reached the disk when this function returns, and its content does so before
    its name. The others survive the end of the process, but perhaps not a loss of power.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + UNFINISHED)
    try:
        with unfinished.open("wb") as file:
            file.write(content)
            if lasting:
                file.flush()
                os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    if lasting:
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Let the names of a folder's files reach the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def checksum(content: bytes) -> str:
    """Return the SHA-256 of a content."""
    return hashlib.sha256(content).hexdigest()
