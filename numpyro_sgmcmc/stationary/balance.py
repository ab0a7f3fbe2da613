"""The friction by which a thermostat balances gradient noise."""

import numpy as np
from scipy.optimize import brentq

from numpyro_sgmcmc.dynamics import AbstractDynamics
from numpyro_sgmcmc.minibatch import Epoch
from numpyro_sgmcmc.stationary.relative_variance import Ageing, stationary_variances

NEAR = 1e-5
"""Excess of the mean kinetic energy that rounding errors cause."""

FIRST, MOST_DOUBLINGS = 1.5, 6
"""First guess of c relative to that of leading order, and how often it is doubled."""


def balanced(
    dynamics: AbstractDynamics,
    step_size: float,
    curvature: np.ndarray,
    noise: np.ndarray,
    corrected: np.ndarray,
    ageing: Ageing | None = None,
    epoch: Epoch | None = None,
) -> tuple[AbstractDynamics, Ageing]:
    """Return dynamics and ages with the friction that keeps the mean kinetic energy.

    A thermostat, and a momentum of fixed length, keep the kinetic energy of all directions together
    at its target. What gradient noise, old gradients and the step size add to it they take out by
    friction, in all directions alike: D becomes D + h c, where c solves

        mean_i Var(p_i; D + h c) = 1.

    The result is the dynamics for this correction, and `ageing` with c in its damping. Where the
    recursion does not settle, or no c within the search solves the equation, c is zero: the noise
    then counts in full, so that the variances are too large.

    Gradient noise of the variances V_i makes c half of their mean, to leading order, so that the
    variance of z along direction i is multiplied by (1 + h V_i / (2 D)) / (1 + h mean V / (2 D)).

    Args:
        dynamics: linear, with a momentum and a `compensation`.
        step_size: h.
        curvature: of all directions, (d,).
        noise: V along each direction, (d,).
        corrected: V that a noise correction knows of, (d,).
        ageing: the ages of gradients and the remedy; None if gradients are never old.
        epoch: how the noise of minibatches depends on each other; None if it is independent.
    """
    nothing = np.zeros_like(curvature)
    removed = np.clip(np.asarray(dynamics.heating(corrected, step_size), np.float64), 0.0, 1.0)
    dynamics = dynamics.with_correction(float(np.mean(removed)))
    fresh = Ageing(np.ones(1), nothing, nothing) if ageing is None else ageing

    def excess(c: float) -> float:
        damped = fresh._replace(damping=fresh.damping + c)
        found = stationary_variances(
            dynamics, step_size, curvature, noise, corrected, damped, epoch
        )
        return float(np.mean(found.momentum)) - 1

    now, friction = excess(0.0), float(dynamics.friction)
    if not np.isfinite(now) or abs(now) < NEAR:
        return dynamics, fresh
    # To leading order c is D / h times the excess.
    end = np.sign(now) * FIRST * abs(now) * friction / step_size
    for _ in range(MOST_DOUBLINGS):
        if excess(end) * now <= 0:
            found = float(
                np.asarray(brentq(excess, min(0.0, end), max(0.0, end), xtol=1e-4 * abs(end)))
            )
            return dynamics, fresh._replace(damping=fresh.damping + found)
        end *= 2
    return dynamics, fresh
