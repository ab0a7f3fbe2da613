"""What the recursion of a Gaussian must know of the ages of gradients and of a remedy."""

import numpy as np

from numpyro_sgmcmc.dynamics import AbstractDynamics
from numpyro_sgmcmc.staleness.delay import AbstractDelay
from numpyro_sgmcmc.staleness.remedy import AbstractRemedy, CurvatureRemedy, FrictionRemedy
from numpyro_sgmcmc.stationary import Ageing


def ageing(
    delay: AbstractDelay,
    remedy: AbstractRemedy | None,
    dynamics: AbstractDynamics,
    curvature: np.ndarray,
    assumed: np.ndarray,
) -> Ageing:
    """Return the ages and the remedy, direction by direction.

    A thermostat measures the kinetic temperature and balances the negative friction of old
    gradients by itself, on average over the directions: to leading order its friction grows by
    a h lambda, where a is the mean age and lambda the mean of the curvature that is not corrected.

    Args:
        delay: the distribution of the ages.
        remedy: the remedy in force, or None.
        dynamics: the run's dynamics.
        curvature: the true curvature in the preconditioner's coordinates, (m,).
        assumed: the curvature that the remedy assumes there, (m,); not used without one.
    """
    nothing = np.zeros_like(curvature)
    known = assumed if isinstance(remedy, CurvatureRemedy) else nothing
    damping = nothing
    if isinstance(remedy, FrictionRemedy):
        damping = float(remedy.mean_age) * assumed
    elif dynamics.linearised() is not dynamics:
        damping = nothing + delay.mean * max(float(np.mean(curvature - known)), 0.0)
    return Ageing(delay.probabilities(), known, damping)
