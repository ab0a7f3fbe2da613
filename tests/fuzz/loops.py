"""NumPyro's loop over iterations, compiled once for all cases of a program."""

from contextlib import contextmanager
from functools import cache
from unittest.mock import patch

import jax


@contextmanager
def compiled_once(jitted):
    """Within it NumPyro compiles a function once.

    Without a progress bar NumPyro's `MCMC.run` wraps its loop anew at each run, so that the loop is
    compiled again. `jitted`, from `programs()`, keeps what was compiled.
    """
    with patch("numpyro.util.maybe_jit", jitted):
        yield


def programs():
    """Return a `jax.jit` that gives the same compiled function for the same function."""

    @cache
    def wrapped(function, options):
        return jax.jit(function, **dict(options))

    def jitted(function, **options):
        return wrapped(function, tuple(sorted(options.items())))

    return jitted
