"""The switch for all optimisations in this folder."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import jax

VARIABLE = "NUMPYRO_SGMCMC_PLAIN_JAX"
"""Set to 1, this environment variable switches the folder off."""

_OFF: ContextVar[bool] = ContextVar("off", default=False)


@contextmanager
def plain_jax() -> Iterator[None]:
    """Switch the folder off for what is traced inside.

    Gradients of functions written for CPUs have no derivative in forward mode unless they are
    taken first: `jax.jvp(jax.grad(f))` works, and `jax.jvp(f)` does not.
    """
    before = _OFF.set(True)
    try:
        yield
    finally:
        _OFF.reset(before)


def is_on() -> bool:
    """Return whether JAX's backend is a CPU and the folder is not switched off, here or by users.

    This is called while JAX is tracing, so a compiled program does not change afterwards.

    Raises:
        ValueError: if the environment variable is neither 0 nor 1.
    """
    value = os.environ.get(VARIABLE) or "0"
    if value not in ("0", "1"):
        raise ValueError(
            f"Expected the environment variable {VARIABLE} to be 0 or 1; got {value!r}. Set it to 1"
            " for plain JAX, or remove it."
        )
    return value == "0" and not _OFF.get() and jax.default_backend() == "cpu"
