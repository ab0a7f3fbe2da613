"""Products of matrices with all digits of their numbers, also on accelerators."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax


@contextmanager
def full_precision(always: bool = False) -> Iterator[None]:
    """Trace products of matrices that keep all digits, unless the user has chosen otherwise.

    By default JAX rounds the factors of a product on an accelerator: to 11 significant bits on
    recent NVIDIA GPUs (TF32), to 8 on TPUs. A coefficient that is rounded to 11 bits is off by up
    to 1/2048 of itself, which is not small beside the standard deviations of a million rows: the
    sampler would be right for another posterior. On a CPU nothing changes.

    `jax.config.update("jax_default_matmul_precision", "tensorfloat32")`, or JAX's context manager
    of this name, is a user's choice and stays as it is.

    Args:
        always: whatever the user has chosen, so that a verdict shows what rounding does.
    """
    config: Any = jax.config
    is_chosen = config.jax_default_matmul_precision is not None
    if jax.default_backend() == "cpu" or (is_chosen and not always):
        yield
        return
    with jax.default_matmul_precision("highest"):
        yield
