"""Warnings for large data that would be copied: as constants of a program, or out of a file."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from numpyro_sgmcmc.checks import warn_user
from numpyro_sgmcmc.model import copied_files
from numpyro_sgmcmc.preparation import is_traced

LARGE = 64_000_000
"""Size in bytes above which a warning is given: constants of 220 MB cost 4 s and 400 MB."""


def warn_about_constants(args: tuple, kwargs: dict) -> None:
    """Warn if large data would become constants of the program that is being traced.

    NumPyro's loop closes over the model's arguments unless `jit_model_args=True`.
    """
    size = bytes_of_arrays(jax.tree.leaves((args, kwargs)))
    if size < LARGE or not is_traced() or constants_are_inputs():
        return
    warn_user(
        f"The {size / 1e6:,.0f} MB of data become constants of NumPyro's compiled program, which"
        " takes seconds and copies the data. Set the environment variable"
        " JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS=1 before JAX is imported: JAX then passes the data as"
        " inputs, and nothing else changes. MCMC(..., jit_model_args=True, progress_bar=False)"
        " does so too; with a progress bar it copies the data at every step. `sg.run(mcmc, key,"
        " ...)` passes large data as inputs by itself."
    )


def warn_about_copied_files(args: tuple, kwargs: dict) -> None:
    """Warn if large data in files would be read into memory."""
    for name, why in copied_files(args, kwargs, LARGE).items():
        warn_user(
            f"The data of {name} are in a file and are read into memory: {why}. Save them as"
            " float32 or int32 by `numpy.save`, and pass `numpy.load(path, mmap_mode='r')` to keep"
            " them on disk."
        )


def bytes_of_arrays(leaves: list[Any]) -> int:
    """Return the bytes of the arrays among arguments, without those that JAX traces."""
    arrays = [x for x in leaves if isinstance(x, jax.Array | np.ndarray)]
    return sum(array.nbytes for array in arrays if not isinstance(array, Tracer))


def constants_are_inputs() -> bool:
    """Return whether JAX passes arrays that a function closes over as inputs of its program.

    This is found by tracing a small function: such arrays are not constants of its jaxpr then.
    """
    with jax.ensure_compile_time_eval():
        array = jnp.arange(64)
    return not jax.make_jaxpr(lambda: array + 1)().consts
