"""Refusal of a compiler that is known to compute wrong numbers without an error."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
from jaxlib import version

SHAPES = (40, 1_000, 2), (4, 500, 20)
"""Shapes at which jaxlib 0.10.2 computes wrong numbers; at many others it does not."""

TOLERANCE = 1e-3
"""Sums of 20 products of normal numbers, which reach 30, are off by 1e-5 at most by rounding."""


def check_compiler() -> None:
    """Raise an error if XLA computes wrong products of rows with sums over their columns.

    jaxlib 0.10.2 does so on CPUs, where several arrays of rows are computed together. Gradients of
    slopes by groups consist of such products. Hessians then lack the data of some groups.

    Raises:
        RuntimeError: if such products are wrong.
    """
    if jax.default_backend() == "cpu" and not _is_sound():
        raise RuntimeError(
            "Expected JAX to multiply and add correctly; got wrong numbers from jaxlib"
            f" {version.__version__} on this CPU, where samplers and gradients would be wrong"
            " without an error (https://github.com/jax-ml/jax/issues/39103). Install another"
            " version with `pip install 'jaxlib!=0.10.2'`, or start Python with the environment"
            " variable XLA_FLAGS=--xla_cpu_experimental_ynn_fusion_type= (nothing after the last"
            " equals sign)."
        )


@cache
def _is_sound() -> bool:
    rng = np.random.default_rng(0)
    with jax.ensure_compile_time_eval():
        for shape in SHAPES:
            x, y = rng.standard_normal(shape[1:]), rng.standard_normal(shape)
            found = np.asarray(_product(jnp.float32(x), jnp.float32(y)))
            if not np.abs(found - x * np.sum(x * y, axis=-1, keepdims=True)).max() < TOLERANCE:
                return False
    return True


@jax.jit
def _product(x: jax.Array, y: jax.Array) -> jax.Array:
    return x * jnp.sum(x * y, axis=-1, keepdims=True)
