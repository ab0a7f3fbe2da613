"""Settings that every test shares."""

import ctypes
import gc
import os
from pathlib import Path

# Two host devices for chain_method="parallel". XLA reads this once, when JAX is first used.
os.environ["XLA_FLAGS"] = " ".join(
    [os.environ.get("XLA_FLAGS", ""), "--xla_force_host_platform_device_count=2"]
).strip()

import jax
import pytest

MAPS = Path("/proc/self/maps")
MAX_MEMORY_MAPS = 30_000
"""A process may hold 65,530; beyond that a compilation dies with signal 11."""
MAX_BYTES = 2_300_000_000
"""Resident memory from which on compiled programs are dropped: two processes share a machine."""
GROWTH = 400_000_000
"""What must have come on top of what the last time left, or nothing would be won."""
TESTS_BETWEEN = 10
"""The kernel takes a while to list some ten thousand maps: they are counted after so many tests."""

left, tests = 0, 0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests that take minutes first: processes would wait for one that is begun last."""
    items.sort(key=lambda item: item.get_closest_marker("minutes") is None)


@pytest.fixture(autouse=True)
def bounded_memory():
    """Drop compiled programs before they exhaust the memory or the process's memory maps."""
    global left, tests
    yield
    tests += 1
    if not MAPS.exists():
        return
    is_full = resident() > max(MAX_BYTES, left + GROWTH)
    if is_full or (tests % TESTS_BETWEEN == 0 and maps() > MAX_MEMORY_MAPS):
        jax.clear_caches()
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        left = resident()


def maps() -> int:
    """Return the number of this process's memory maps."""
    with MAPS.open("rb") as lines:
        return sum(1 for _ in lines)


def resident() -> int:
    """Return the bytes of memory that this process occupies."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
