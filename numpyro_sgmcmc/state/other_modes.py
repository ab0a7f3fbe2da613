"""Modes of the posterior at which no chain starts."""

from typing import NamedTuple

import jax


class OtherModes(NamedTuple):
    """The modes that a search found besides the one at which the chains start.

    Attributes:
        centre: the mode at which the chains start, (d,).
        positions: the others, that of the largest share first, (modes, d).
        shares: the others' shares of the probability by Laplace approximations at all modes that
            were found, (modes,).
    """

    centre: jax.Array
    positions: jax.Array
    shares: jax.Array
