"""The switch for all optimisations in this folder."""

import os

import jax

VARIABLE = "NUMPYRO_SGMCMC_PLAIN_JAX"
"""Set to 1, this environment variable switches the folder off."""


def is_on() -> bool:
    """Return whether JAX's backend is a CPU and the folder is not switched off.

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
    return value == "0" and jax.default_backend() == "cpu"
