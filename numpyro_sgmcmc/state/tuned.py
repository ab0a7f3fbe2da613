"""The settings that a warm-up chooses for the chains."""

from typing import NamedTuple

import jax

from numpyro_sgmcmc.correction import AbstractCorrection
from numpyro_sgmcmc.gradient import AbstractGradient
from numpyro_sgmcmc.preconditioner import AbstractPreconditioner


class Tuned(NamedTuple):
    """The settings of a chain that the user did not give.

    Attributes:
        step_size: h; None if the user gave a step size or a schedule.
        friction: D; None if the user gave it or the dynamics have none.
        preconditioner: the preconditioner.
        gradient: the gradient estimator, without its anchor, which is part of the walker's state.
        correction: the noise correction, or None.
    """

    step_size: jax.Array | None
    friction: jax.Array | None
    preconditioner: AbstractPreconditioner
    gradient: AbstractGradient
    correction: AbstractCorrection | None = None
