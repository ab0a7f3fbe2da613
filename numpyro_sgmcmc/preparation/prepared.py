"""What preparation returns: the numbers of a run, and why they were chosen."""

from typing import NamedTuple

import jax

from numpyro_sgmcmc.correction import AbstractCorrection
from numpyro_sgmcmc.gradient import AbstractGradient, Anchor
from numpyro_sgmcmc.preparation.approximation import Approximation
from numpyro_sgmcmc.preparation.thresholds import ADVISED_FROM
from numpyro_sgmcmc.state import Tuned


class Adaptation(NamedTuple):
    """What was chosen and why, all in the preconditioner's coordinates.

    Attributes:
        gradient: the gradient estimator that was chosen.
        step_size: h.
        friction: D, None for dynamics without.
        curvature: the largest curvature of U found near the mode.
        smallest_curvature: the smallest curvature there, None where it is not known.
        noise: the largest eigenvalue V of the gradient noise's covariance at typical points.
        share: heating by that noise as a share of the increment, h V / (2 D) (Langevin: h V / 2).
        correction: the noise correction in use, None without.
        relaxation_steps: transitions in which the slowest mode forgets its start; that of the mean
            curvature where the smallest is not known, which is too optimistic.
        batch_factor: how many times as large minibatches would have to be for their noise not to
            limit the step size; 1 where it does not.
        windows: warm-up windows that preconditioner and anchor come from; 0 where those are of a
            Gaussian approximation at the mode.
    """

    gradient: AbstractGradient
    step_size: jax.Array
    friction: jax.Array | None
    curvature: jax.Array
    smallest_curvature: jax.Array | None
    noise: jax.Array
    share: jax.Array
    correction: AbstractCorrection | None
    relaxation_steps: jax.Array
    batch_factor: jax.Array
    windows: int = 0

    def __str__(self) -> str:
        """Return what was chosen and why, in one line."""
        friction = "" if self.friction is None else f", friction {float(self.friction):.3g}"
        advice = ""
        if float(self.batch_factor) > ADVISED_FROM:
            advice = (
                f" Noise limits the step size: minibatches {float(self.batch_factor):.0f} times as"
                " large would let it be as many times larger."
            )
        taken = "left in" if self.correction is None else "taken out of the injected noise"
        return (
            f"{type(self.gradient).__name__} gradient, step size {float(self.step_size):.3g}"
            f"{friction}: curvature {float(self.curvature):.3g}, gradient noise"
            f" {float(self.noise):.3g} in whitened units, {float(self.share):.1%} of the injected"
            f" noise, {taken}; about {float(self.relaxation_steps):,.0f} transitions for an"
            f" independent draw; {self.windows} windows.{advice}"
        )


class Prepared(NamedTuple):
    """What a run starts from.

    Attributes:
        tuned: the numbers and parts that its chains run with.
        anchor: the fixed point of gradient estimators that need one, else None.
        approximation: a Gaussian approximation of the posterior at whose draws chains start; a
            point where its spread is None; None where chains start as the strategy says.
        adaptation: what the warm-up measured and chose, None where nothing was left open.
    """

    tuned: Tuned
    anchor: Anchor | None
    approximation: Approximation | None
    adaptation: Adaptation | None
