"""Refusal of a compiler that is known to compute wrong numbers without an error."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
from jaxlib import version

SHAPES = (40, 1_000, 2), (4, 500, 20)
"""Numbers that are not split into equal parts: the same error spares others."""

TOLERANCE = 1e-3
"""Sums of 20 products of normal numbers, which reach 30, are off by 1e-5 at most by rounding."""


def check_compiler() -> None:
    """Raise an error if XLA computes products and sums of some rows wrongly.

    jaxlib 0.10.2 does on CPUs: each row's product with a sum over its columns, for several sets of
    rows at once, which is what gradients of slopes by groups are made of. Hessians then lack the
    data of a part of the groups.

    Raises:
        RuntimeError: if it does here.
    """
    if jax.default_backend() == "cpu" and not _is_sound():
        raise RuntimeError(
            "Expected JAX to multiply and add rightly; got wrong numbers from jaxlib"
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
