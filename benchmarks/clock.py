"""Seconds that a computation takes: of processors, or of the wall clock on an accelerator."""

import time

import jax


def now() -> float:
    """Return seconds from an arbitrary start.

    On a CPU they are seconds of processors, which other programs hardly change. An accelerator
    computes while the processor waits, so that only the wall clock tells.
    """
    return time.process_time() if jax.default_backend() == "cpu" else time.perf_counter()
