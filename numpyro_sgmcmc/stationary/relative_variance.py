"""A kernel's stationary variance on a Gaussian, from its own linear recursion."""

from typing import NamedTuple

import numpy as np

from numpyro_sgmcmc.dynamics import AbstractDynamics
from numpyro_sgmcmc.minibatch import Epoch
from numpyro_sgmcmc.stationary.epochs import noise_of_epochs
from numpyro_sgmcmc.stationary.matrices import Matrices, matrices, outer, summed

RESOLVED = 1e-4
"""Distance from 1 at which an eigenvalue's rounding changes the relative variance by 1e-3."""

SOFT = 1e-2
"""Largest h lambda and h^2 lambda of a direction whose curvature is raised: beyond, the relative
variance is not near its limit, and an eigenvalue of 1 says that the recursion does not settle."""


class Ageing(NamedTuple):
    """How old gradients are, and what is done about it, direction by direction.

    Attributes:
        ages: probabilities of the ages 0, 1, ..., m in transitions, (m + 1,).
        known: curvature c by which a gradient is corrected, g(then) + c (now - then), (d,).
        damping: `compensation` of the dynamics, (d,).
    """

    ages: np.ndarray
    known: np.ndarray
    damping: np.ndarray


def relative_variance(
    dynamics: AbstractDynamics,
    step_size: float,
    curvature: np.ndarray,
    noise: np.ndarray,
    corrected: np.ndarray,
    ageing: Ageing | None = None,
    epoch: Epoch | None = None,
) -> np.ndarray:
    """Return the stationary variance over the exact one, 1 / curvature, direction by direction.

    In a direction of curvature lambda a step is affine in x = (z, auxiliary variables). With q the
    point at which a transition needs its gradient, and q' that of the transition k earlier,

        x <- F x + b g + a dW,    g = lambda q' + c (q - q') + e,

    with dW ~ N(0, h (1 - s)) and gradient noise e ~ N(0, V). F, b and a are derivatives of the
    dynamics' own step; s is the share that a noise correction takes out. The state X = (x, and the
    queries of the last m transitions) then follows X <- A_k X + noise, where the age k is drawn
    anew at each transition with probabilities w_k. A_k = F' + b' r_k' differs in the row r_k only,
    which picks q'. With A the mean of A_k and Q the noise's covariance, the covariance M solves

        M = A M A' + Q + v b' b'',    v = sum_k w_k r_k' M r_k - r' M r,    r = sum_k w_k r_k.

    So ages that vary act as the mean filter of the gradients and as gradient noise of variance v.
    M is linear in v, and v follows from one equation. It is exact for independent ages.

    In single precision an eigenvalue of A within 1e-7 of 1 says nothing of lambda. A direction with
    an eigenvalue nearer to 1 than RESOLVED is given a larger curvature, and remedies in proportion:
    as h lambda falls, the relative variance tends to a limit, and it is then within about RESOLVED
    of it.

    Args:
        dynamics: linear in auxiliary variables, gradient and increment.
        step_size: h.
        curvature: lambda, (d,), in the preconditioner's coordinates, at T = 1.
        noise: V along each direction, (d,).
        corrected: V that the correction knows of, (d,); zeros without.
        ageing: the ages of gradients and the remedy; None if gradients are never old.
        epoch: how the noise of minibatches depends on each other; None if it is independent.

    Returns:
        Shape (d,); infinite where the recursion does not settle.
    """
    return stationary_variances(
        dynamics, step_size, curvature, noise, corrected, ageing, epoch
    ).position


class Variances(NamedTuple):
    """Variances relative to the exact ones, (d,); infinite where the recursion does not settle.

    Attributes:
        position: of z, relative to 1 / curvature.
        momentum: of the first auxiliary variable, relative to 1; of z for dynamics without any.
    """

    position: np.ndarray
    momentum: np.ndarray


def stationary_variances(
    dynamics: AbstractDynamics,
    step_size: float,
    curvature: np.ndarray,
    noise: np.ndarray,
    corrected: np.ndarray,
    ageing: Ageing | None,
    epoch: Epoch | None,
) -> Variances:
    """Return the variances of position and momentum; `relative_variance` says how."""
    curvature = np.array(curvature, np.float64)
    if ageing is None:
        ageing = Ageing(np.ones(1), np.zeros_like(curvature), np.zeros_like(curvature))
    known, damping = (np.array(x, np.float64) for x in ageing[1:])
    while True:
        one = matrices(dynamics, step_size, damping)
        with np.errstate(over="ignore", invalid="ignore"):
            a = _mean_matrix(one, curvature, known, ageing.ages)
        # What overflows does not settle.
        finite = np.all(np.isfinite(a), axis=(1, 2), keepdims=True)
        a = np.where(finite, a, 2 * np.eye(a.shape[1]))
        values = np.linalg.eigvals(a)
        slow = (np.abs(values - 1) < RESOLVED).any(1)
        slow &= (curvature > 0) & (max(step_size, step_size**2) * curvature < SOFT)
        if not slow.any():
            break
        for each in (curvature, known, damping):
            each[slow] *= 4
    share = np.zeros_like(curvature)
    if np.any(corrected):
        heating = np.asarray(dynamics.heating(corrected, step_size), np.float64)
        share = np.clip(heating, 0.0, 1.0)
    settles = np.abs(values).max(1) < 1
    stable = np.where(settles[:, None, None], a, 0.0)
    kick, *heats = (
        _padded(np.where(settles[:, None], x, 0.0), a.shape[1])
        for x in (one.kick, *np.moveaxis(one.heat, -1, 0))
    )
    injected = (float(step_size) * (1 - share))[:, None, None] * sum(map(outer, heats))
    covariance = summed(stable, injected)
    by_noise = (
        summed(stable, outer(kick)) if epoch is None else noise_of_epochs(stable, kick, epoch)
    )
    covariance = covariance + np.asarray(noise, np.float64)[:, None, None] * by_noise
    if np.count_nonzero(ageing.ages) > 1:
        strength = (curvature - known)[:, None]
        heard = summed(stable, outer(kick * strength))
        own, echo = (_scatter(m, one.look, ageing.ages) for m in (covariance, heard))
        settles &= echo < 1
        variance = own / np.where(settles, 1 - echo, 1.0)
        covariance = covariance + variance[:, None, None] * heard
    positions = covariance[:, 0, 0] * curvature
    momenta = covariance[:, 1, 1] if one.kick.shape[1] > 1 else positions
    return Variances(*(np.where(settles, x, np.inf) for x in (positions, momenta)))


def _mean_matrix(
    one: Matrices, curvature: np.ndarray, known: np.ndarray, ages: np.ndarray
) -> np.ndarray:
    """Return the mean of the matrices A_k, (n, size + m, size + m)."""
    count, size = one.kick.shape
    m = len(ages) - 1
    a = np.zeros((count, size + m, size + m))
    a[:, :size, :size] = one.free
    now = known + (curvature - known) * ages[0]
    a[:, :size, :size] += now[:, None, None] * one.kick[:, :, None] * one.look[:, None, :]
    if m:
        then = (curvature - known)[:, None] * one.kick
        a[:, :size, size:] = then[:, :, None] * ages[1:]
        a[:, size, :size] = one.look
        places = np.arange(size + 1, size + m)
        a[:, places, places - 1] = 1.0
    return a


def _scatter(m: np.ndarray, look: np.ndarray, ages: np.ndarray) -> np.ndarray:
    """Return sum_k w_k r_k' M r_k - r' M r, (n,)."""
    size, width = look.shape[1], m.shape[1]
    rows = np.zeros((len(m), len(ages), width))
    rows[:, 0, :size] = look
    rows[:, np.arange(1, len(ages)), np.arange(size, width)] = 1.0
    second = np.einsum("nki,nij,nkj->nk", rows, m, rows)
    mean = np.einsum("k,nki->ni", ages, rows)
    return second @ ages - np.einsum("ni,nij,nj->n", mean, m, mean)


def _padded(x: np.ndarray, width: int) -> np.ndarray:
    return np.pad(x, ((0, 0), (0, width - x.shape[1])))
