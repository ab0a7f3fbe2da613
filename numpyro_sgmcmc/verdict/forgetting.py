"""Whether gradients of the marginal density can be trusted, at a verdict's draws."""

import numpy as np

from numpyro_sgmcmc.verdict.fields import Fields
from numpyro_sgmcmc.verdict.measurement import Sample
from numpyro_sgmcmc.verdict.run import FinishedRun
from numpyro_sgmcmc.verdict.thresholds import SD_TOLERANCE

STANDARD_ERRORS = 3.0
"""From so many on, a difference between two starts is not one of chance."""


def unforgotten(run: FinishedRun, sample: Sample, field: Fields) -> tuple[int | None, str] | None:
    """Return the coordinate that cannot be checked because of latents of rows, and why.

    Gradients of the marginal density are averages over moves of discrete latents, or integrals over
    continuous ones. Two starts of the moves, one where a chain ended and one with draws of the
    prior, or two rules of quadrature must lead to the same moments by Stein's identity. What they
    differ by is about the bias of either, relative to a variance or in standard deviations. None
    where no bias is seen.
    """
    local = run.target.structure.local
    if local is None or sample.gap is None:
        return None
    for site in local.discrete:
        if site.support is None:
            why = f"as the latents {site.name!r} are moved by `latent_move` alone"
            return None, f"{why}, whose correctness is not known"
    x = (sample.draws / sample.scale)[:, : len(sample.further)]
    gap = field.along(sample.gap, sample.further)[:, : x.shape[1]] * sample.scale[: x.shape[1]]
    for difference in (x * gap, gap):
        mean = difference.mean(0)
        error = difference.std(0, ddof=1) / np.sqrt(len(difference))
        seen = np.abs(mean) > np.maximum(STANDARD_ERRORS * error, SD_TOLERANCE)
        if seen.any():
            why = (
                "as the moves of the discrete latents of a row forget too slowly where they began:"
                " give a better move (`latent_move`)"
                if local.discrete
                else "as the integrals over the latents of rows are not accurate: their densities"
                " are far from Gaussian"
            )
            return int(np.argmax(seen)), why
    return None
