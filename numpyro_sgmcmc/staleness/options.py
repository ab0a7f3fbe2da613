"""A user's choices for stale gradients."""

from dataclasses import dataclass
from typing import Literal, final

from numpyro_sgmcmc.preconditioner import AbstractLinearMap
from numpyro_sgmcmc.staleness.delay import AbstractDelay


@final
@dataclass(frozen=True, eq=False)
class Staleness:
    """How old gradients are, and the remedy against their bias.

    Attributes:
        delay: the distribution of their ages.
        remedy: "friction", "curvature", or None.
        whiten: W with H = W' W, from the curvature that the user gave; None if the remedy takes
            that of the warm-up's approximation.
    """

    delay: AbstractDelay
    remedy: Literal["friction", "curvature"] | None
    whiten: AbstractLinearMap | None = None
