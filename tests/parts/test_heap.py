"""Memory that goes back to the system when arrays are freed."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import sys
import numpy as np
from benchmarks.speed.memory import resident
from numpyro_sgmcmc.cpu.heap import return_large_arrays
return_large_arrays(int(sys.argv[1]))
np.ones(30_000_000 // 8)  # glibc puts arrays of this size between others from now on
before = resident()
arrays = [np.ones(16_000_000 // 8) for _ in range(8)]
del arrays[:-1]
print(resident() - before)
"""


def kept(largest, **environment):
    """Return the bytes that are kept of seven arrays of 16 MB that were freed, and one that is not.

    The last one is above all others, so that only memory of their own goes back.
    """
    inputs = [sys.executable, "-c", SCRIPT, str(largest)]
    found = subprocess.run(
        inputs, capture_output=True, text=True, check=True, env=os.environ | environment
    )
    return int(found.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="of glibc")
def test_large_arrays_go_back_when_they_are_freed():
    assert kept(2**22) < 20e6
    assert kept(2**20) > 100e6
    assert kept(2**22, MALLOC_MMAP_THRESHOLD_="33554432") > 100e6
