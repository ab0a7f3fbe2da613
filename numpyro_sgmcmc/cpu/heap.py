"""Memory that was freed, given back to the system."""

import ctypes
import os
import sys
from typing import Any

from numpyro_sgmcmc.cpu.gate import is_on

LARGE = 2**21
"""Bytes from which on an array is large: to fill it takes longer than to ask for its memory."""

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""Numbers of these settings in `malloc.h` of glibc."""


def give_back() -> None:
    """Give memory back that the C library keeps although it was freed.

    Arrays that come and go between others leave holes of many megabytes, which are not of use to
    the threads that compile programs. C libraries without `malloc_trim` are left alone.
    """
    trim = _function("malloc_trim")
    if trim is not None:
        trim(0)


def return_large_arrays(largest: int) -> None:
    """Have the memory of large arrays go back to the system as soon as they are freed.

    When glibc frees an array that has memory of its own, it puts further ones up to that size, at
    most 32 MB, between others, and keeps up to twice as much free in the heap of each thread. With
    10^6 latents of rows these were 140 MB. A setting by the user's environment is kept.

    Args:
        largest: bytes of the largest arrays; nothing is changed where they are not large.
    """
    is_set = any(name in os.environ for name in ("MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES"))
    set_to = _function("mallopt")
    if largest >= LARGE and set_to is not None and not is_set:
        set_to(MMAP_THRESHOLD, LARGE)
        set_to(TRIM_THRESHOLD, LARGE)


def _function(name: str) -> Any:
    """Return a function of the C library, None where it has none or is not to be touched."""
    if not is_on() or sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None), name, None)
