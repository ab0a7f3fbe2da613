"""Exact moments of the shared parameters of `binomial`, by quadrature."""

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import logsumexp

POINTS = 40


def moments(y, trials):
    """Return means and standard deviations of tau and b, {name: (mean, sd)}.

    The latents are integrated by Gauss-Hermite quadrature under their prior, tau and b on a grid.
    """
    x, w = hermegauss(POINTS)
    successes, numbers = np.unique(np.asarray(y), return_counts=True)
    tau = np.linspace(1e-3, 2.0, 300)[:, None, None]
    b = np.linspace(-1.0, 2.0, 241)[None, :, None]
    logits = b + tau * x
    total = -(tau[..., 0] ** 2) / 2 - b[..., 0] ** 2 / 2
    for k, n in zip(successes, numbers, strict=True):
        log_density = k * logits - trials * np.logaddexp(0, logits)
        total = total + n * logsumexp(log_density + np.log(w), axis=2)
    weight = np.exp(total - total.max())
    weight /= weight.sum()
    edges = weight[0].sum(), weight[-1].sum(), weight[:, 0].sum(), weight[:, -1].sum()
    assert max(edges[1:]) < 1e-6, edges  # the grid holds all of it but tau near 0
    found = {}
    for name, grid in (("tau", tau[..., 0]), ("b", b[..., 0])):
        mean = (weight * grid).sum()
        found[name] = mean, np.sqrt((weight * (grid - mean) ** 2).sum())
    return found
