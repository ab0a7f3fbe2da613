"""Compiler options for one-time programs: those of small models take longest to compile."""

from functools import cache
from typing import Any

import jax

from numpyro_sgmcmc.cpu.gate import is_on

FEW_NUMBERS = 300
"""Up to this dimension, what a lightly compiled program takes longer is negligible."""
LIGHT = {"xla_cpu_use_fusion_emitters": False}
"""XLA's older code generation for fused operations: less to compile, up to a fifth slower.

The newer one sets up a compiler of its own for each fused operation. JAX 0.12 has no other.
"""
UNOPTIMISED = {"xla_backend_optimization_level": 0}
"""No optimisation, for programs that run for less time than it takes to optimise them.

A step would take four times as long.
"""


def compiler_options(dimension: int, optimise: bool) -> dict[str, Any] | None:
    """Return the compiler options for a one-time program of a model with so many parameters.

    Args:
        dimension: number of parameters.
        optimise: whether the program runs for longer than it takes to optimise it.
    """
    if dimension > FEW_NUMBERS or not is_on():
        return None
    return _light() | ({} if optimise else UNOPTIMISED)


@cache
def _light() -> dict[str, Any]:
    """Return `LIGHT` where this XLA knows it, else no option."""
    try:
        jax.jit(lambda x: x, compiler_options=LIGHT).lower(0.0).compile()
    except jax.errors.JaxRuntimeError as error:
        if "No such compile option" not in str(error):
            raise
        return {}
    return LIGHT
