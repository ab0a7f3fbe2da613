"""Programs by what they depend on, so that a second run compiles nothing."""

from collections import OrderedDict
from typing import Any
from weakref import WeakKeyDictionary

import jax
from numpyro.infer import MCMC

from numpyro_sgmcmc.driving.collected import Collected
from numpyro_sgmcmc.driving.program import Layout, Program
from numpyro_sgmcmc.model import fingerprint

KEPT = 4
"""Number of programs that are kept for an `MCMC`."""


def program_of(
    mcmc: MCMC, layout: Layout, collected: Collected, model: tuple[tuple, dict]
) -> Program:
    """Return the program of a run, the one of an earlier run if nothing differs.

    Unless `jit_model_args` is set, the arguments of the model are constants of the program. Another
    array, or the same one with other content, then needs another program.
    """
    # NumPyro maps chains over closures, so arguments are constants there.
    is_constant = layout.is_mapped or not mcmc._jit_model_args
    key: tuple[Any, ...] = (mcmc.sampler, mcmc.postprocess_fn, layout, collected, mcmc.thinning)
    if is_constant:
        identities = tuple(map(id, jax.tree.leaves(model)))
        key = (*key, identities, fingerprint(*model))
    programs = _PROGRAMS.setdefault(mcmc, OrderedDict())
    if key not in programs:
        given = model if is_constant else None
        programs[key] = Program(
            mcmc.sampler, mcmc.postprocess_fn, layout, collected, mcmc.thinning, given
        )
    programs.move_to_end(key)
    while len(programs) > KEPT:
        programs.popitem(last=False)
    return programs[key]


_PROGRAMS: WeakKeyDictionary[Any, OrderedDict[Any, Program]] = WeakKeyDictionary()
