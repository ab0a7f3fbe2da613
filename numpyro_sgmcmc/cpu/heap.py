"""Memory that was freed, given back to the system."""

import ctypes
import sys

from numpyro_sgmcmc.cpu.gate import is_on


def give_back() -> None:
    """Give memory back that the C library keeps although it was freed.

    Arrays that come and go between others leave holes of many megabytes, which are not of use to
    the threads that compile programs. C libraries without `malloc_trim` are left alone.
    """
    if not is_on() or sys.platform != "linux":
        return
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
