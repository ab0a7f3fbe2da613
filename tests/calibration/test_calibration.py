"""Simulation-based calibration: true values rank uniformly among a kernel's draws.

Step sizes follow a rule. Variances that are off by a share e of the posterior's shift the
chi-squared statistic of R ranks by about R e^2 / 2. With e = 5 % and R = 240 that is 0.3, nothing
beside 15 degrees of freedom (standard deviation 5.5). So h is a round number that keeps the mean of
e over data sets below 5 % along the worst direction, and `num_steps` brings the
autocorrelation of draws to 1 %:

- regression: by the exact distribution of the recursion, which `test_rule` checks;
- hierarchy: by the first term of its bias, h (H + V) / 2 or h V / (2 D), with largest curvature
  H = 13 and largest noise V = 21 (fixed point: 9) at the true values, averages over 400 data sets,
  and smallest curvature 0.8;
- mixture: by the same terms. The curvature lies between 1 and 17, so that (h w)^2 / 4, the share
  of a symmetric splitting, is below 1 %, and the slowest autocorrelation time is 2 D / (h H);
- counts, with latents of rows: the curvature given the latents is 17 in every data set, and
  (h w)^2 / 4 is 1 %. The Gibbs sampler's sweeps take two transitions each.

18 comparisons at 1e-4 each; keys are fixed.
"""

from functools import partial

import jax
import numpy as np
import pytest

from numpyro_sgmcmc import SGLD, SGLDFP, SGRRLD, FixedPoint, SGHMCSplit
from tests.calibration.problems import (
    BATCH,
    DESIGN,
    ROWS,
    SCALE,
    counts,
    hierarchy,
    mixture,
    regression,
    replicate,
)
from tests.calibration.ranks import assert_uniform, ranks, ranks_with_latents
from tests.marks import rarely
from tests.oracles import linear
from tests.oracles.recursion import DYNAMICS, stationary_covariance

pytestmark = pytest.mark.slow


def sgldfp(model, h, steps, **options):
    return SGLDFP(model, h, num_steps=steps, **options)


def split(model, h, steps, friction):
    gradient = FixedPoint()
    return SGHMCSplit(model, h, friction=friction, gradient=gradient, num_steps=steps)


def sgrrld(model, h, steps):
    return SGRRLD(model, h, num_steps=steps)


CASES = {
    ("regression", "SGLDFP"): (sgldfp, {"h": 0.014, "steps": 110}),
    ("regression", "SGHMCSplit"): (split, {"h": 0.15, "steps": 45, "friction": 4.0}),
    ("regression", "SGRRLD"): (sgrrld, {"h": 0.012, "steps": 130}),
    ("hierarchy", "SGLDFP"): (sgldfp, {"h": 0.004, "steps": 1_400}),
    ("hierarchy", "SGHMCSplit"): (split, {"h": 0.015, "steps": 750, "friction": 2.0}),
    ("hierarchy", "SGRRLD"): (sgrrld, {"h": 0.006, "steps": 950}),
    ("mixture", "SGHMCSplit"): (split, {"h": 0.04, "steps": 300, "friction": 4.0}),
}
MODELS = {"regression": regression, "hierarchy": hierarchy, "mixture": mixture}
SITES = {"regression": [0, 1], "hierarchy": [0, 1, 5], "mixture": [0]}
"""Coordinates in the order of the sites' names: both of theta; mu, one of raw, tau; m."""


KEPT = [("regression", "SGLDFP"), ("hierarchy", "SGHMCSplit"), ("mixture", "SGHMCSplit")]


@pytest.mark.parametrize(("model", "kernel"), rarely(CASES, KEPT))
def test_kernel_is_calibrated(model, kernel):
    build, options = CASES[model, kernel]
    found = ranks(partial(build, **options), MODELS[model])
    for coordinate in SITES[model]:
        assert_uniform(found[:, coordinate])


def test_latents_of_rows_are_calibrated():
    found = ranks_with_latents(SGHMCSplit(counts, 0.05, friction=4.0, num_steps=200), counts, row=0)
    assert_uniform(found["shared"])
    assert_uniform(found["latents"])


WRONG = {
    "plain gradients at a large step": (regression, partial(SGLD, step_size=0.25, num_steps=50)),
    "temperature 4": (regression, partial(sgldfp, h=0.014, steps=110, temperature=4.0)),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_distributions_are_noticed(case):
    model, build = WRONG[case]
    found = ranks(build, model)
    with pytest.raises(AssertionError, match="not uniform"):
        assert_uniform(found[:, 0])


@pytest.mark.parametrize("kernel", ["SGLDFP", "SGHMCSplit", "SGRRLD"])
def test_rule(kernel):
    """Step sizes and thinning of the regression's runs, by their exact distributions."""
    _, options = CASES["regression", kernel]
    dynamics, steps = "splitting" if kernel == "SGHMCSplit" else "langevin", options["steps"]
    h, friction = options["h"], options.get("friction", 0.0)
    if kernel == "SGRRLD":
        h, steps = h / 2, 2 * steps  # the fine walker's draws are ranked
    build, errors = DYNAMICS[dynamics](h, np.eye(2), friction), []
    for key in jax.random.split(jax.random.key(1), 100):
        y = np.asarray(replicate(regression, key).y)
        exact = linear.posterior(np.asarray(DESIGN)[:, None], y[:, None], np.array([SCALE]))
        noise = exact.noise(BATCH, anchor=None if kernel == "SGRRLD" else exact.mode)
        covariance = stationary_covariance(build, exact.hessian, noise, h)[:2, :2]
        errors.append(np.abs(np.linalg.eigvals(covariance @ exact.hessian) - 1).max())
    assert len(exact.row_offsets) == ROWS
    assert np.mean(errors) < 0.05
    memory = np.abs(np.linalg.eigvals(build.transition(exact.hessian))).max() ** steps
    assert memory < 0.01
