"""The numbers and parts that a warm-up chooses and a chain runs with."""

from typing import NamedTuple

import jax

from numpyro_sgmcmc.correction import AbstractCorrection
from numpyro_sgmcmc.gradient import AbstractGradient
from numpyro_sgmcmc.preconditioner import AbstractPreconditioner


class Tuned(NamedTuple):
    """What a chain runs with besides the user's own choices.

    Attributes:
        step_size: h, None where the user gave a step size or a schedule.
        friction: D, None where the user gave it or the dynamics have none.
        preconditioner: the preconditioner.
        gradient: the gradient estimator, without its anchor, which is part of the walker's state.
        correction: the noise correction, None without.
    """

    step_size: jax.Array | None
    friction: jax.Array | None
    preconditioner: AbstractPreconditioner
    gradient: AbstractGradient
    correction: AbstractCorrection | None = None
