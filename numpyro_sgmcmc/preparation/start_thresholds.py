"""Thresholds of the search for a start, with the reasons."""

import numpy as np

# The search for a mode.

ADAM_STEPS = 2_000
ADAM_STEP_SIZE = 0.05
"""Number of Adam's steps, and the first step size, which decays to 0 along a cosine. Their product
bounds the distance along an unconstrained coordinate by about 100; the decay halves it."""

LBFGS_STEPS = 200
"""Largest number of L-BFGS steps."""

NEWTON_STEPS = 60
"""Largest number of Newton steps. Near a mode each doubles the number of correct digits; the others
are damped steps far from the mode."""

LONGEST_STEP = 10_000.0
"""Longest Newton step, in standard deviations of the Gaussian approximation. Steps that do not
reduce U are halved."""

COARSEST = 0.2
"""Distance of neighbouring floating-point numbers, in standard deviations, from which on a run is
refused. At h = 0.1 rounding then adds 0.2^2 / 24 / 0.1 = 2 % to the variance of a step."""

ARRIVED = 0.01
"""Distance to the mode, in the same unit, at which the search has converged."""

SEARCHES = 4
"""Starts from which a mode is searched for. A mode that attracts a third of the starts is missed by
all of them with probability 0.2; NUTS has as many starts as chains."""

PROFILE = 8
"""Points on the way from a mode to where another search ended, at which U shows a barrier."""

BARRIER = 1.0
"""Decrease of U along that way from which on there may be another mode. Chains cross lower ones."""

APART = 1.0
"""Distance in standard deviations below which two ends of Newton's method are one mode."""

DIAGONAL_PROBES = 32
"""Hessian-vector products from which the Hessian's diagonal is estimated if it is not formed."""

MAX_TRIES = 100
"""Positions that a strategy may propose until one is finite. NumPyro uses the same number."""

SHRINKAGE = 0.955
"""Factor of `init_to_uniform`'s interval after each such position: 0.01 after 100 of them."""

# The Gaussian approximation.

CHECKED_DRAWS = 64
"""Draws used to check a Laplace approximation. With 16, a non-centred model passed by chance."""

NOT_GAUSSIAN = 0.4
"""Relative error of U that at most one in five draws of a sound Laplace approximation may exceed.
That quantile is about 0.1 for nearly Gaussian posteriors, and 0.7 or more if scales vary."""

SCORED_ROWS = 2**14
"""Rows whose gradients show the curvature that a Hessian misses. In 300 dimensions they know an
eigenvalue to 15 %."""

HIDDEN_CURVATURE = 4.0
"""Curvature of rows' gradients, in units of the Hessian's, from which on the Hessian is taken to
miss it. Counts that vary twice as much as their model says have 2."""

SECANT_ROWS = 2**24
"""Gradients of single rows from which secants are computed, each time."""

SECANT_STEPS, SECANTS_AGREE = 12, 1.5
"""Times that they are, at most, and the factor by which curvatures may then change: the first ones
have the scale of the rows' gradients, and may be far from the mode."""

CENTRED = 0.05
"""Distance to the mode, in standard deviations, below which a point may stand for it. Rows' kinks
hide the mode within about one over the root of their number."""

SMALLEST_SECANT = 0.1
"""Smallest curvature by secants that is taken for one, in units of the last approximation's: where
they see less, another step looks again."""

FIT_STEPS = 6_000
FIT_STEP_SIZE = 0.05
FIT_DRAWS = 4
"""Adam's steps in the mean-field fit, their size, and the draws at each; found by experiments on
centred hierarchical models."""

FAR_MEMORY, NEARER_MEMORY, LATER_MEMORY = 0.9, 0.99, 0.999
"""Decay of Adam's mean of squared gradients. Where gradients are enormous, they decrease tenfold
within a few steps, and the memory must be as short. Far from the posterior they are still orders of
magnitude larger than near it, and the usual 0.999 would keep steps small for thousands of steps.
Near it the gradients of effects with few rows are rare, and 0.99 would forget them."""

FAR_STEPS = 500
"""Steps of the fit with the shortest memory. They lead out of where exponentials make gradients
enormous. The search for a mode has it in the first half of its steps: Newton's method follows."""

SMALLEST_SCALE = 1e-3
"""Initial scales of the fit: small, so that the centre moves first."""

APPROACH_STEPS, FIRST_STEP = 600, 0.05
"""Steps of Rprop before a fit, and the length of the first one. 80 steps cover 10^7 first ones, and
the others settle."""

REACH = 50.0
"""Distance along a coordinate that a fit surely covers. All of its steps together cover 150."""

USUAL_SCALES = 1e-3, 10.0
"""Standard deviations at which a fit with steps of `FIT_STEP_SIZE` converges."""

UNUSUAL = 10.0
"""Factor by which a standard deviation must be outside of that range for a fit to have units. An
approach knows standard deviations within a factor of two or three only."""

WIDE = 30.0
"""Standard deviation on the unconstrained space above which a density's tails are checked."""

WIDEST = 4
"""Number of coordinates checked, those with the largest standard deviations."""

DISTANCES = 10.0 ** np.arange(1, 16)
"""Distances at which tails are checked. A proper prior, however vague, decreases within 10^15."""
