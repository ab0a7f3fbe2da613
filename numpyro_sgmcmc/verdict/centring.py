"""Hierarchies whose effects are centred although the data determine them badly."""

from typing import NamedTuple

import numpy as np

from numpyro_sgmcmc.model import centred_sites
from numpyro_sgmcmc.running import Run
from numpyro_sgmcmc.verdict.thresholds import LEAST_DETERMINED, WIDE_LOG_SCALE


class BadlyCentred(NamedTuple):
    """A site of effects that is better written non-centred, and the site of its scale."""

    site: str
    scale: str


def badly_centred(run: Run) -> BadlyCentred | None:
    """Return the hierarchy whose scale varies most over the posterior, if its effects vary with it.

    Given the scale s, effects that the data hardly determine have the standard deviation s, and the
    curvature 1 / s^2 along them varies by orders of magnitude if log s is wide. No constant step
    size suits all of it. Written non-centred, the effects' curvature does not depend on s. Effects
    that the data determine well have a standard deviation far below s, and are better centred.
    Effects that the run moved in coordinates of its own are left out.
    """
    structure, target = run.structure, run.target
    first = {name: run.draws[name][0, 0] for name in structure.prototype}
    found: list[tuple[float, BadlyCentred]] = []
    moved = run.tuned.centring or {}
    for site, scales in centred_sites(structure, first, target.args, target.kwargs):
        if site in moved:
            continue
        effects = np.asarray(run.draws[site], np.float64)
        width = np.median(effects.std(axis=(0, 1)))
        for name in scales:
            scale = np.asarray(run.draws[name], np.float64)
            if not np.all(scale > 0) or scale[0, 0].size > 1:
                continue
            spread = float(np.log(scale).std())
            if spread > WIDE_LOG_SCALE and width > LEAST_DETERMINED * np.median(scale):
                found.append((spread, BadlyCentred(site, name)))
    return max(found)[1] if found else None
