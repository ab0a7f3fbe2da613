"""Programs by what they depend on, so that a second run compiles nothing."""

from collections import OrderedDict
from typing import Any
from weakref import WeakKeyDictionary

from numpyro.infer import MCMC

from numpyro_sgmcmc.driving.collected import Collected
from numpyro_sgmcmc.driving.passed import (
    Passed,
    all_constant,
    all_inputs,
    are_large,
    arrays_as_inputs,
)
from numpyro_sgmcmc.driving.program import Layout, Program

KEPT = 4
"""Number of programs that are kept for an `MCMC`."""


def passed_to(mcmc: MCMC, layout: Layout, model: tuple[tuple, dict]) -> Passed:
    """Return the arguments of the model as the program of a run gets them.

    As in NumPyro's loop they are constants unless `jit_model_args` is set. Large ones are inputs:
    constants are stored twice.
    """
    if layout.is_mapped:  # NumPyro maps chains over closures.
        return all_constant(model)
    if mcmc._jit_model_args:
        return all_inputs(model)
    return arrays_as_inputs(model) if are_large(model) else all_constant(model)


def program_of(mcmc: MCMC, layout: Layout, collected: Collected, passed: Passed) -> Program:
    """Return the program of a run, the one of an earlier run if nothing differs."""
    parts = mcmc.sampler, mcmc.postprocess_fn, layout, collected, mcmc.thinning
    key = *parts, len(passed.inputs), passed.identity
    programs = _PROGRAMS.setdefault(mcmc, OrderedDict())
    if key not in programs:
        programs[key] = Program(*parts, passed)
    programs.move_to_end(key)
    while len(programs) > KEPT:
        programs.popitem(last=False)
    return programs[key]


_PROGRAMS: WeakKeyDictionary[Any, OrderedDict[Any, Program]] = WeakKeyDictionary()
