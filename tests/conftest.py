"""Settings that every test shares."""

import gc
import os
from pathlib import Path

# Two host devices for chain_method="parallel". XLA reads this once, when JAX is first used.
os.environ["XLA_FLAGS"] = " ".join(
    [os.environ.get("XLA_FLAGS", ""), "--xla_force_host_platform_device_count=2"]
).strip()

import jax
import pytest

MAX_MEMORY_MAPS = 30_000
"""A process may hold 65,530; beyond that a compilation dies with signal 11."""


@pytest.fixture(autouse=True)
def bounded_memory_maps():
    """Drop compiled programs before they exhaust the process's memory maps."""
    yield
    maps = Path("/proc/self/maps")
    if not maps.exists():
        return
    with maps.open() as lines:
        count = sum(1 for _ in lines)
    if count > MAX_MEMORY_MAPS:
        jax.clear_caches()
        gc.collect()
