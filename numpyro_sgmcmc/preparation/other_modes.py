"""Several modes: the best of those that searches found, and the others' shares."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.preparation.approximation import Surroundings, describes, surroundings_of
from numpyro_sgmcmc.preparation.axes import principal_axes
from numpyro_sgmcmc.preparation.mode import Mode
from numpyro_sgmcmc.preparation.mode_search import newton_from
from numpyro_sgmcmc.preparation.start_thresholds import APART, ARRIVED, BARRIER
from numpyro_sgmcmc.preparation.target import Target
from numpyro_sgmcmc.preparation.thresholds import TOLERANCE
from numpyro_sgmcmc.state import OtherModes

HIGHEST = 1e300


class Found(NamedTuple):
    """The mode at which chains start, and those at which none does."""

    mode: Mode
    others: OtherModes | None


def best_mode(
    target: Target,
    mode: Mode,
    found: Surroundings,
    ends: np.ndarray,
    key: jax.Array,
    temperature: float,
) -> Found:
    """Return the mode of the largest probability among those of several searches.

    A mode's share of the probability is that of its Laplace approximation, proportional to
    exp(-U / T) det(H)^(-1/2). A share e at a distance of D standard deviations changes a variance
    by up to e D^2. A mode is reported if this exceeds half of the tolerance of a variance.

    A search that ended in the same basin as `mode` costs nothing here: U increases all the way to
    where it ended. Newton's method starts only where U decreases on that way, which convex
    potentials exclude.

    Args:
        target: the model bound to its data.
        mode: a mode whose Laplace approximation is sound.
        found: the potential around it, and on the way to `ends`.
        ends: where other searches ended, (searches, d).
        key: key of the checks of Laplace approximations.
        temperature: T.
    """
    keys = random.keys_of(key, len(ends)) if len(ends) else ()
    modes = [mode]
    for end, profile, one in zip(ends, np.asarray(found.profiles), keys, strict=True):
        if not _has_barrier(profile, float(mode.potential_energy)):
            continue
        other = newton_from(target, end)
        is_new = all(_distance(known, other) > APART for known in modes)
        if is_new and float(other.distance) < ARRIVED:
            nowhere = jnp.zeros((0, end.size), end.dtype)
            if describes(other, surroundings_of(target, other, one, nowhere)):
                modes.append(other)
    if len(modes) == 1:
        return Found(mode, None)
    logs = np.array([_log_weight(one, temperature) for one in modes])
    shares = np.exp(logs - logs.max())
    shares /= shares.sum()
    best, *rest = np.argsort(-shares)
    squares = {k: _distance(modes[best], modes[k]) ** 2 / temperature for k in rest}
    rest = [k for k in rest if shares[k] * squares[k] > TOLERANCE / 2]
    if not rest:
        return Found(modes[best], None)
    centre = modes[best].position
    positions = jnp.stack([modes[k].position for k in rest])
    others = OtherModes(centre, positions, jnp.asarray(shares[rest], centre.dtype))
    return Found(modes[best], others)


def _has_barrier(profile: np.ndarray, energy: float) -> bool:
    """Return whether U decreases, by more than rounding, on the way from a mode to a position."""
    slack = BARRIER + 100 * float(np.finfo(profile.dtype).eps) * abs(energy)
    # A point at which U is not finite is as good as infinitely high.
    heights = np.where(np.isfinite(profile), profile.astype(np.float64), HIGHEST)
    return bool(np.any(np.diff(heights, prepend=0.0) < -slack))


def _distance(mode: Mode, other: Mode) -> float:
    """Return the distance in standard deviations of the first mode's Laplace approximation."""
    away = np.asarray(other.position - mode.position, np.float64)
    square = away @ np.asarray(mode.hessian, np.float64) @ away
    return float(np.sqrt(max(square, 0.0)))


def _log_weight(mode: Mode, temperature: float) -> float:
    axes = principal_axes(mode.hessian)
    curvatures = np.asarray(axes.curvatures, np.float64)
    log_det = np.sum(np.log(curvatures)) - 2 * np.sum(np.log(np.asarray(axes.unit, np.float64)))
    return float(-float(mode.potential_energy) / temperature - log_det / 2)
