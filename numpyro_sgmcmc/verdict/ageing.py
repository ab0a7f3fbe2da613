"""What theory must know of a run with stale gradients."""

from typing import Any

import numpy as np

from numpyro_sgmcmc.staleness import ageing
from numpyro_sgmcmc.stationary import Ageing
from numpyro_sgmcmc.verdict.run import FinishedRun


def ageing_of(run: FinishedRun, curvature: np.ndarray, axes: np.ndarray | None) -> Ageing | None:
    """Return the ages of gradients and the remedy along directions; None if they are never old.

    Args:
        run: the run.
        curvature: along the directions, in the preconditioner's coordinates, (m,).
        axes: the directions, orthonormal columns, (d, m); None if they are not known, where a
            remedy is taken to assume the curvature 1, that of the coordinates which a warm-up
            makes.
    """
    if run.staleness is None:
        return None
    remedy, linear = run.tuned.remedy, run.tuned.preconditioner
    one: Any = linear
    assumed = np.ones_like(curvature)
    if remedy is not None and axes is not None:
        assumed = remedy.along(axes, one)
    return ageing(run.staleness.delay, remedy, run.dynamics, curvature, assumed)
