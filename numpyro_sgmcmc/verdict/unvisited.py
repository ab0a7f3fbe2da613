"""Modes that the preparation found and no chain visited."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from numpyro_sgmcmc.verdict.run import FinishedRun
from numpyro_sgmcmc.verdict.thresholds import LEAST_VISITS


class Unvisited(NamedTuple):
    """A mode that the chains miss.

    Attributes:
        share: of the probability, by Laplace approximations at all modes that were found.
        visits: share of the draws that are nearer to it than to the mode where the chains started.
        site: where it differs most, in standard deviations of the draws.
        distance: by how many.
    """

    share: float
    visits: float
    site: str
    distance: float


def unvisited_mode(run: FinishedRun, site_of: Callable[[int], str]) -> Unvisited | None:
    """Return the most probable of the modes that the draws miss, None where they miss none.

    A mode is missed if fewer draws than half of its share are on its side: nearer to it than to the
    mode where the chains started, in standard deviations of the draws.
    """
    others = run.tuned.other_modes
    if others is None:
        return None
    finest = run.walkers[0].draws
    draws = finest.reshape(-1, finest.shape[2])
    weights = run.weights.ravel() / run.weights.sum()
    scale = draws.std(axis=0)
    unit = np.where(scale > 0, scale, 1.0)
    centre = np.asarray(others.centre, np.float64)
    shares = np.asarray(others.shares, np.float64)
    for position, share in zip(np.asarray(others.positions, np.float64), shares, strict=True):
        away = (position - centre) / unit
        towards = ((draws - centre) / unit) @ away / (away @ away)
        visits = float(weights @ (towards > 0.5))
        if visits < LEAST_VISITS * share:
            at = int(np.argmax(np.abs(away)))
            return Unvisited(float(share), visits, site_of(at), float(np.abs(away[at])))
    return None
