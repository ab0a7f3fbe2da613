"""The transitions of one MCMC iteration."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax

from numpyro_sgmcmc.preparation import Options


class Iteration(NamedTuple):
    """The transitions of one iteration.

    Attributes:
        before: number of transitions before this iteration.
        steps: number of transitions in it.
    """

    before: Any
    steps: Any


def fixed(options: Options, i: jax.Array) -> Iteration:
    """Return the transitions of iteration i if the user's options fix their number."""
    assert options.num_steps is not None
    return Iteration(i * options.num_steps, options.num_steps)


def repeated(steps: Any, body: Callable[[Any, Any], Any], carry: Any) -> Any:
    """Return `carry` after `body(s, carry)` for s = 0, 1, ..., steps - 1."""
    if isinstance(steps, int) and steps == 1:
        return body(0, carry)
    return jax.lax.fori_loop(0, steps, body, carry)
