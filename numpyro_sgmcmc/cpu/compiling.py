"""How one-time programs are compiled, which for a small model takes longer than to run them."""

from functools import cache
from typing import Any

import jax

FEW_NUMBERS = 300
"""Up to this dimension a program that is compiled lightly takes no time worth mentioning."""
LIGHT = {"xla_cpu_use_fusion_emitters": False}
"""XLA's older way to emit fused operations on a CPU: a third less to compile, up to a fifth slower.

The newer one sets up a compiler of its own for each fused operation; JAX 0.12 has no other.
"""
BRIEF = {"xla_backend_optimization_level": 0}
"""For what computes for less time than it takes to optimise: a step takes four times as long."""


def compiler_options(dimension: int, brief: bool) -> dict[str, Any] | None:
    """Return the compiler's options for a program of a model with so many parameters."""
    if dimension > FEW_NUMBERS:
        return None
    return _light() | (BRIEF if brief else {})


@cache
def _light() -> dict[str, Any]:
    """Return `LIGHT` where this XLA knows it, else no option."""
    if jax.default_backend() != "cpu":
        return {}
    try:
        jax.jit(lambda x: x, compiler_options=LIGHT).lower(0.0).compile()
    except jax.errors.JaxRuntimeError as error:
        if "No such compile option" not in str(error):
            raise
        return {}
    return LIGHT
