"""Arrays in files, which every process opens itself instead of being sent them."""

import mmap
import os
from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from numpyro_sgmcmc.model import checksum


@final
@dataclass(frozen=True)
class InFile:
    """Where a file holds an array.

    Attributes:
        path: of the file.
        dtype: type of the entries, as NumPy writes it.
        shape: of the array.
        order: "C" or "F".
        offset: bytes of the file before the array.
        status: inode, size and time of the last change, by which the same file is recognised.
        content: checksum of the entries, by which a copy of the file is recognised.
    """

    path: str
    dtype: str
    shape: tuple[int, ...]
    order: Literal["C", "F"]
    offset: int
    status: tuple[int, int, int]
    content: int

    def opened(self) -> np.memmap:
        """Return the array, which is not read into memory.

        Another file than the one that was described is read once, to compare all of its entries.

        Raises:
            ValueError: if this machine has no such file, or another one of this name.
        """
        try:
            array = self._mapped()
        except (OSError, ValueError) as error:  # ValueError: the file is too short
            raise ValueError(self._expected(str(error))) from error
        if _status(self.path) != self.status and checksum(array) != self.content:
            raise ValueError(self._expected("a file with other entries"))
        return array

    def is_held(self) -> bool:
        """Return whether the file of this name holds these entries, all of which are read."""
        try:
            return checksum(self._mapped()) == self.content
        except (OSError, ValueError):  # ValueError: it is too short
            return False

    def _mapped(self) -> np.memmap:
        return np.memmap(self.path, self.dtype, "r", self.offset, self.shape, self.order)

    def _expected(self, got: str) -> str:
        return (
            f"Expected the data {self.shape} in the file {self.path!r} on every machine; got {got}."
            " Copy the file there under the same path, use a file system that all machines share,"
            " or pass the data as an array in memory."
        )


def in_file(array: np.ndarray) -> InFile | None:
    """Return where a file holds an array; None if it is in memory, or has gaps in the file.

    A part of a memory-mapped array, such as its first rows, is found in the file, too. A file that
    has been replaced by another one since it was mapped does not hold the array any longer.
    """
    if not isinstance(array, np.memmap) or array.mode == "c" or array.dtype.hasobject:
        return None
    mapped, filename = getattr(array, "_mmap", None), array.filename
    is_whole = array.flags.c_contiguous or array.flags.f_contiguous
    if mapped is None or filename is None or not is_whole or array.size == 0:
        return None
    array.flush()  # what this process has written, for other machines
    # NumPy gives a part of an array the offset of the whole.
    begin = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY
    offset = begin + array.ctypes.data - np.frombuffer(mapped, np.uint8).ctypes.data
    path, shape = os.path.abspath(filename), tuple(map(int, array.shape))
    order = "C" if array.flags.c_contiguous else "F"
    if not os.path.exists(path):
        return None
    given = path, array.dtype.str, shape, order, int(offset)
    found = InFile(*given, _status(path), checksum(array))
    return found if found.is_held() else None


def _status(path: str) -> tuple[int, int, int]:
    found = os.stat(path)
    return found.st_ino, found.st_size, found.st_mtime_ns
