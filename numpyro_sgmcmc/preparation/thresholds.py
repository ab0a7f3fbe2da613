"""The numbers behind a preparation: what it aims at, and what it may cost, with the reasons."""

import numpy as np

# What a chosen step size may do.

TOLERANCE = 0.1
"""Relative error of a variance that the chosen step size may cause, half of it by gradient noise:
5 % of a standard deviation."""

CORRECTED_SHARE = 0.3
"""Largest share of the increment that gradient noise may stand for under a noise correction. The
relative error of the measured noise, times this share, reaches the variance."""

FRICTION = 1.5
"""Friction in units of the square root of the mean curvature: near the fastest relaxation."""

ADVISED_FROM = 2.0
"""Times the minibatch from which on a larger one is advised."""

# Up to which dimension matrices are formed.

DENSE_DIMENSION = 300
"""Up to this dimension the Hessian is formed, and Newton's steps polish the mode: d^2 numbers and d
Hessian-vector products take less than a second of the warm-up for small models."""

DENSE_COVARIANCE = 500
"""Up to this dimension a window estimates the whole covariance: d^2 numbers at each transition."""

DENSE_NOISE = 500
"""Up to this dimension the whole covariance of the gradient noise is formed."""

MANY_NUMBERS = 100_000
"""From this dimension on the mean-field fit takes one draw a step: its noise averages over as many
coordinates."""

# The search for a mode.

ADAM_STEPS = 2_000
ADAM_STEP_SIZE = 0.05
"""Adam comes near a mode: at most 100 on the unconstrained space, of which half is annealed."""

LBFGS_STEPS = 200
"""Passes over the data that L-BFGS may take."""

NEWTON_STEPS = 30
"""Newton's method doubles its digits at each step near a mode; the others are damped ones."""

LONGEST_STEP = 100.0
"""Longest Newton step, in standard deviations of the Gaussian approximation."""

ARRIVED = 0.01
"""Distance to the mode, in the same unit, that counts as none."""

DIAGONAL_PROBES = 32
"""Hessian-vector products that estimate the Hessian's diagonal where it is not formed."""

MAX_TRIES = 100
"""Positions that a strategy may propose until one is finite; NumPyro tries as many."""

# The Gaussian approximation.

CHECKED_DRAWS = 64
"""Draws that a Laplace approximation is judged by: with 16 a non-centred model passed by chance."""

NOT_GAUSSIAN = 0.4
"""Relative error of U that one in five draws of a sound Laplace approximation may exceed: 0.1 where
a posterior is nearly Gaussian, 0.7 and more where its scales change along it."""

FIT_STEPS = 6_000
FIT_STEP_SIZE = 0.05
FIT_DRAWS = 4
"""Adam's steps of the mean-field fit, and its draws at each: found on centred hierarchies."""

SMALLEST_SCALE = 1e-3
"""Where the fit's scales start: small, so that the centre moves first."""

WIDE = 30.0
"""Standard deviations on the unconstrained space from which on a density's tails are looked at."""

WIDEST = 4
"""Coordinates looked at, those with the largest standard deviations."""

DISTANCES = 10.0 ** np.arange(1, 16)
"""Where tails are looked at: a proper prior, however vague, falls off within 10^15."""

# The windows.

WALKERS = 8
"""Walkers of a window: enough for the variance between their means."""

MOST_WINDOWS = 5
SHORTEST_WINDOW = 20
MOST_TRANSITIONS = 20_000
"""Windows double, so the last one holds half of the warm-up. Shorter ones than 20 transitions have
too few effective draws, and longer warm-ups than 20,000 do not pay off."""

BURN_IN = 4
"""One part in so many of a window does not count."""

SNAPSHOTS = 4
"""Positions that each walker leaves behind in a window."""

# Measurements.

POINTS = 32
"""Positions at which gradient noise is measured before the first window."""

CURVATURE_POINTS = 4
"""Positions at which curvature is measured; the largest counts."""

POWER_STEPS = 25
"""Steps of the power iteration: an eigenvalue that is 10 % smaller is damped to 0.5 %."""

CHANCE_OF_KINKS = 1e-4
"""Chance that the gradients of a Gaussian are taken for those of a density with kinks."""

NOISE_DRAWS = 2_048
"""Minibatches whose gradients make a dense covariance: its relative error is about 3 %."""

WIDE_NOISE_DRAWS = 128
"""The same in high dimension, where they are all kept at once."""

NOISE_BATCH = 16
"""Minibatch gradients that are taken at once."""

HESSIAN_COLUMNS = 32
"""Hessian columns taken at once: memory of a block is this many times that of a gradient."""

ROWS_AT_ONCE = 1_024
"""Rows whose gradients are taken at once."""

MANY_ROWS = 4_096
"""Rows that stand for the whole data where a curvature need not be exact."""
