"""Compiler options for one-time programs, which for small models take mostly compilation time."""

from functools import cache
from typing import Any

import jax

from numpyro_sgmcmc.cpu.gate import is_on

FEW_NUMBERS = 300
"""Up to this dimension, the additional running time of a lightly compiled program is negligible."""
MANY_NUMBERS = 2**15
"""Up to this dimension, the same holds for programs that are not optimised at all. For a
factorisation of 17,498 parameters they run for 0.03 to 2 s, in place of 0.01 to 0.7 s, and their
compilation takes 1 to 4 s less."""
LIGHT = {"xla_cpu_use_fusion_emitters": False, "xla_cpu_parallel_codegen_split_count": 1}
"""XLA's older code generation for fused operations: faster to compile, up to a fifth slower to run.

The newer one sets up a separate compiler for each fused operation. JAX 0.12 has only the newer one.

Code in one part instead of up to 32, which are compiled in parallel. Each part takes memory maps of
its own, of which Linux allows a process 65,530. With parts a session ended in an error of the
compiler after 22 models, and small programs were not compiled faster.
"""
UNOPTIMISED = {"xla_backend_optimization_level": 0}
"""No optimisation, for programs that run for less time than their optimisation takes.

A step would take four times as long.
"""


def compiler_options(dimension: int, optimise: bool) -> dict[str, Any] | None:
    """Return the compiler options for a one-time program.

    Args:
        dimension: number of parameters of the model.
        optimise: whether the program runs for longer than its optimisation takes.
    """
    if dimension > (FEW_NUMBERS if optimise else MANY_NUMBERS) or not is_on():
        return None
    return _light() | ({} if optimise else UNOPTIMISED)


@cache
def _light() -> dict[str, Any]:
    """Return those options of `LIGHT` that this version of XLA has."""
    return {name: value for name, value in LIGHT.items() if _is_known({name: value})}


def _is_known(option: dict[str, Any]) -> bool:
    try:
        jax.jit(lambda x: x, compiler_options=option).lower(0.0).compile()
    except jax.errors.JaxRuntimeError as error:
        if "No such compile option" not in str(error):
            raise
        return False
    return True
