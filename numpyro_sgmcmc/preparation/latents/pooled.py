"""Windows of one process, of which each is about twice as long as the one before, as one window."""

import numpy as np

from numpyro_sgmcmc.preparation.autocorrelation import in_pairs
from numpyro_sgmcmc.preparation.windows import Seen


def pooled(before: Seen, last: Seen, shift: np.ndarray) -> Seen:
    """Return the last window with the segments of those before it.

    Half of what the last window shows is worth keeping: four walkers see few independent draws of a
    slow coordinate. Pairs of earlier segments are as long as one of the last window; they differ by
    rounding, at most by a twentieth. Segments need not be neighbours.

    Args:
        before: the window before, or what those before it show together.
        last: the last window.
        shift: the centre of the last window minus that of the one before, (d,).
    """
    earlier = in_pairs(np.asarray(before.segments, np.float64)) - shift
    means = np.concatenate([earlier, np.asarray(last.segments, np.float64)])
    share = len(earlier) / len(means)
    second = share * _second(before, shift) + (1 - share) * _second(last, np.zeros_like(shift))
    return last._replace(segments=means, variances=second - means.mean((0, 1)) ** 2)


def _second(seen: Seen, shift: np.ndarray) -> np.ndarray:
    """Return the mean square of a window around another centre, (d,)."""
    mean = np.asarray(seen.segments, np.float64).mean((0, 1))
    return np.asarray(seen.variances, np.float64) + (mean - shift) ** 2
