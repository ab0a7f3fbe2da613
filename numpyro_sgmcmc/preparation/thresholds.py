"""Thresholds of the preparation: its targets and limits of its cost, with the reasons."""

import numpy as np

# Limits of the chosen step size.

TOLERANCE = 0.1
"""Relative error of a variance that the chosen step size may cause, half of it by gradient noise:
5 % of a standard deviation."""

CORRECTED_SHARE = 0.6
"""Largest share of the increment's variance that gradient noise may have under a noise correction;
less where noise is not known well or differs over the posterior."""

CAUTION_ABOUT_NOISE = 2.0
"""Standard errors of the noise's average variance that a share must allow for. With one, standard
deviations of 50 effects with Laplace errors were 8 % too small to 6 % too large."""

EVEN_SHARE = 0.3
"""Share that noise may have however much it differs over a Gaussian posterior."""

UNEVENNESS = 0.15
"""Largest product of a greater share and the relative standard deviation of the noise's variance
over the posterior. Where the variance is V (1 + a (z^2 - 1)) the fourth moment of a unit Gaussian
is 3 (1 - s a) / (1 - 3 s a), and 3.9 at this product."""

UNEVENNESS_ALONE = 0.08
"""Largest product of a share and that relative standard deviation for single coordinates, where the
share is above `SHARE_ALONE`. The middle of a coordinate's distribution is then at most 2.6 % too
narrow, half of the tolerance."""

SHARE_ALONE = 0.1
"""Share that noise may have however uneven it is along a coordinate. Where V(z) grows with z^2, its
relative standard deviation is 1.4 and the middle is 4.6 % too narrow. First-order theory says
little of noise that is more uneven."""

FRICTION = 1.5
"""Friction in units of the square root of the mean curvature: near the fastest relaxation."""

ADVISED_FROM = 2.0
"""Factor of the minibatch size from which on a larger minibatch is advised."""

MANY_PASSES = 100
"""Passes over the data for an independent draw from which on NUTS is recommended: a tree of NUTS on
a posterior with scales alike takes fewer gradients."""

# Dimensions up to which matrices are formed.

DENSE_DIMENSION = 300
"""Up to this dimension the Hessian is formed and Newton's method refines the mode. The d^2 entries
and d Hessian-vector products take less than a second of the warm-up for small models."""

DENSE_COVARIANCE = 500
"""Up to this dimension a window estimates the whole covariance, at d^2 operations a transition."""

AVERAGED_DRAWS = 8
AVERAGED_ROWS = 2**14
"""Draws of a mean-field fit over which the curvature is averaged, and the rows for each of them.
All rows together are 260 times `DENSE_COVARIANCE`, so that sampling changes eigenvalues little."""

CAUTION_ABOUT_CURVATURE = 2.0
"""Standard errors that are added to an averaged curvature that is small."""

VARYING_CURVATURE = 0.5
"""Relative standard deviation of a coordinate's curvature over the fit's draws, above which its
correlations are not those of one Gaussian. Over item parameters it is 0.2, and above 1 for the
logarithm of a scale near 0."""

DENSE_NOISE = 500
"""Up to this dimension the whole covariance of the gradient noise is formed."""

FEW_PARAMETERS = 64
"""Largest size of a site whose parameters are all treated as shared in high dimension."""

SHARED_PARAMETERS = 128
"""Largest number of shared parameters; their dense matrix then costs less than a gradient."""

MOST_COLUMNS = 8
"""An array of effects with more columns than this counts as one column."""

MANY_NUMBERS = 2**16
"""From this dimension on the mean-field fit uses one draw at each step, because its noise averages
over many coordinates: 0.01 nats a coordinate are lost with 17,498 of them. With 97,370 a step takes
7 ms, and 32 ms with four draws."""

# Minibatches by epochs.

MOST_BLOCKS = 512
"""Minibatches of an epoch up to which epochs are considered, as their recursion is computed."""

LEAST_GAIN = 2.0
"""Factor by which epochs must shorten the relaxation time: their rows cost a little more to draw,
and independent minibatches are better understood. Added directions of noise must reduce the noise
of unknown direction by as much: each transition multiplies with them. Settings for predictions must
shorten it by as much where settings for every parameter take `max_num_steps` transitions or more
for a draw. Where they take a k-th part of that, they must shorten it by k^2 times as much."""

CURVATURES = 17
"""Curvatures at which the recursion is computed."""

STEP_FACTORS = 2.0 ** (-np.arange(65) / 4)
"""Factors of the step size that are tried with epochs, down to 1 / 65,536."""

# The windows.

WALKERS = 8
"""Walkers of a window: enough to estimate the variance between their means."""

MOST_WINDOWS = 5
SHORTEST_WINDOW = 20
MOST_TRANSITIONS = 20_000
"""Each window is twice as long as the one before, so the last one is half of the warm-up. Windows
shorter than 20 transitions have too few effective draws. Warm-ups longer than 20,000 transitions
bring no further gain."""

PREDICTED_DRAWS = 100
"""Independent draws of predictions that the walkers of all windows make together where settings are
for predictions in many dimensions. The last window has half of them, which give scales to 10 %."""

SETTLED = 1.25
"""Largest factor by which a window changes the dynamics' unit of time if settings have settled."""

BURN_IN = 4
"""The first 1 / BURN_IN of a window is discarded."""

FEW_COORDINATES = 100
RECORDED = 4
"""Above that dimension a window records every fourth transition: its moments would take as long as
the transitions, and in many dimensions neighbouring positions say nearly the same."""

SNAPSHOTS = 16
"""Positions of each walker that a window records, where memory allows."""

FEWEST_SNAPSHOTS = 4
"""Their number above `MOST_COORDINATES` dimensions. Above `MANY_SEGMENTS`, noise and curvature are
measured at as many of them."""

MOST_COORDINATES = 2**17
"""In so many dimensions all snapshots of 8 walkers take 67 MB in single precision."""

LARGEST_GROWTH = 4
"""Largest ratio of the lengths of a window and the one before, so that settings from a short window
are not used for a much longer one."""

STIFF = 0.1
"""Variance, in units of the approximation's, below which a direction is narrowed on its own."""

UNCORRELATED = 0.25
"""Autocorrelation of neighbouring positions of a path below which they count as independent. Its
standard error for 16 positions of 8 walkers, 0.09, is the largest. Of walkers that hardly move it
was 0.34 or more along all of 207 directions of little variance in 12 dimensions."""

PATH_EACH = 10
"""Positions of all walkers for each dimension that a window records, and from which directions are
narrowed. With 6, the autocorrelation of walkers that hardly move was 0.06 at the least."""

RUN_AWAY = 10.0
"""Root mean square of a coordinate over a window, in standard deviations of the approximation,
from which on a window with a diverging walker is lost. It is about 1 for draws of a posterior, and
larger by orders of magnitude if a walker ran away."""

MOST_LOST = 4
"""Number of lost windows that are repeated. Each of them halves the step size."""

# The number of transitions in an iteration.

WORTH = 0.3
"""Share of an independent draw that a draw is worth in the slowest coordinate. An effective draw
then costs 3 % more transitions than if every transition were a draw: x / tanh(x) at tanh(x) = 0.3.
More transitions in a draw would save draws but cost transitions: 0.6 costs 16 % more."""

AMPLE_WORTH = 0.9
"""Share that a draw is worth where transitions are cheap. An effective draw then costs 64 % more
transitions. In exchange 4,000 draws show standard deviations within the verdict's bound. With
1,400 to 2,000 effective draws the verdict asked for more after six of seven right runs."""

AMPLE_WORK, AMPLE_TRANSITIONS = 1e9, 40_000
"""Products of rows and parameters, over the gradients that a chain takes for as many draws as the
warm-up has iterations, up to which its transitions are cheap, and the number of these transitions.
4,000 draws of the models that were tried took 1 to 8 s, and their warm-ups 8 to 30 s."""

SEGMENTS = 16
"""Segments of a window whose means measure autocorrelation times. With 8 walkers a time has 127
degrees of freedom, and thus a relative standard error of 13 %."""

FAR = 2.0
"""Standard deviations from the centre beyond which autocorrelation times hardly see where a walker
is. Times of a Gaussian become 1.5 % shorter."""

FEWEST_SEGMENTS = 4
"""Number to which they are merged if they are short compared with the autocorrelation time. It is
also used from MANY_SEGMENTS dimensions on, where the means would take too much memory."""

MANY_SEGMENTS = 10_000

LONGEST_TIME = 1.0
"""Autocorrelation time in lengths of a segment up to which it is known from the segments' means. A
mean over a segment of this length has 57 % of the variance of a draw, and the share grows slowly
for longer times."""

SHORT_TIME = 0.5
"""Autocorrelation time in lengths of a segment up to which segments are not merged: merging halves
the degrees of freedom, and longer times double the square of the relative error."""

TOO_SHORT = 0.05
"""Probability that the true autocorrelation time is longer than the one that is used."""

BURN_IN_DRAWS = 50
"""Draws whose number of transitions all of a chain's first iterations take together. A draw takes
0.6 relaxation times, so these are 31, where 10 leave 5e-5 of a deviation. The rest is reserve,
because chains start at draws of an approximation and the measured time may be too short."""

# Measurements.

POINTS = SNAPSHOTS * WALKERS
FEWEST_POINTS = FEWEST_SNAPSHOTS * WALKERS
"""Positions at which gradient noise is measured. Where it grows with the square of a coordinate, as
that of a fixed point does, its average over 128 positions has a relative error of 1 / 8."""

CURVATURE_POINTS = 4
"""Positions at which curvature is measured; the largest value is used."""

POWER_STEPS = 25
"""Steps of the power iteration: an eigenvalue that is 10 % smaller is damped to 0.5 %."""

CHANCE_OF_KINKS = 1e-4
"""Probability that a Gaussian density is mistaken for one with kinks."""

NOISE_DRAWS = 2_048
"""Minibatch gradients from which a dense covariance is estimated, to about 3 % relative error."""

WIDE_NOISE_DRAWS = 128
"""The smallest such number in high dimension, where all gradients are kept in memory."""

WIDE_NOISE_NUMBERS = 2**23
"""Entries of these gradients together: 2,048 gradients up to 4,096 dimensions."""

NOISY_DIRECTIONS = 4
"""Directions of largest noise that are examined in high dimension."""

NOISY_COORDINATES = 8
"""Coordinates that are examined as well: those with the largest entries in these directions."""

ADDED_DIRECTIONS = 64
ADDED_NUMBERS = 2**19
"""Directions of large noise that are added to those of a coupled map, and their entries together. A
transition multiplies with them about ten times."""

NOISE_ROWS = 2**14
ROWS_OF_DIMENSION = 4
"""Rows, at half of the positions each, from which these directions and the noise outside of them
are found, and the least of them for each dimension. Of n rows in d dimensions the largest
eigenvalue of even noise is too large by a factor of (1 + sqrt(d / n))^2."""

CHANCE_OF_NOISE = 4.0
"""Standard errors by which the noise of a direction must exceed that of its coordinates."""

LOOKED_AT = 1_024
"""Rows whose log likelihoods show the effective number of parameters, and its time."""

LEAST_CORRELATION = 0.1
"""Smallest autocorrelation of snapshots that shows a time: the standard error of one from 120 pairs
of a single row is 0.09."""

SLOW = 1.28
"""Standard deviations above the mean of the rows' autocorrelations at which a row counts as slow: a
tenth of normal values are larger."""

SPECTRUM_STEPS = 16
DEVIATIONS = 2
"""Steps of Lanczos's method, and minibatch gradients at each of a few positions, from which the
noise by curvature is found. Each step takes a product with the Hessian of many rows."""

UNEVEN_DRAWS = 16
"""Minibatch gradients at each position from which the noise there is compared with the others', and
as many as its average is measured from."""

COVARIATION_DRAWS = 2
COVARIATION_ROWS = 1_024
"""Draws of the noise at each position from which it is found how noise and curvature vary together,
and rows of each draw's two Hessian products: half of what curvatures along the noisiest directions
take. All positions share the rows, whose noise mostly cancels in differences of curvatures."""

NOISE_BATCH = 16
"""Minibatch gradients that are computed at once."""

HESSIAN_COLUMNS = 32
"""Hessian columns computed at once: a block takes this many times the memory of a gradient."""

ROWS_AT_ONCE = 1_024
"""Rows whose gradients are computed at once."""

MANY_ROWS = 4_096
"""Rows that represent the whole data if a curvature need not be exact."""

# Coordinates of effects.

BENT, BENT_TURNS = 3.0, 4
"""Largest curvature at draws of a Gaussian at a mode, in its units, from which on other coordinates
of effects are tried, and how many times `CURVATURE_POINTS` draws are looked at. A curvature of 3
takes sqrt(3) times the steps of a Gaussian. At four draws of one bent posterior the largest was
between 2.9 and 115."""

SCALES_LOOKED_AT = 16
"""Positions at which the scale of a non-centred effect must be positive. One that may have either
sign, such as a factor of a product, is positive at all of them with probability 2^-16."""

PILOT_SHARE = 0.25
"""Length of the warm-up that shows how scales vary, as a share of the whole warm-up."""

PILOT_DRAWS = 2_000
"""Draws of its approximation, from which quantiles of log scales are taken."""

FIT_SCALES = 128
"""Draws of a fit of many effects, from which the same quantiles are taken. A standard deviation of
log s has an error of 6 %."""

MANY_EFFECTS, FEW_FIT_SCALES = 8_192, 16
"""Above that dimension so many draws are taken, because the comparison of weights would take longer
than the fit: 1.3 GB and minutes for a million effects."""

NEARLY_KNOWN, EQUALLY_STIFF = 0.1, 1.25
"""Up to that standard deviation of log s, by the fit, this factor of stiffness is taken for less
noise. The fit's is too small: half of the true one where the data say little of the effects, which
is then above the bound, and a tenth where they say much, where the weights are near 1 anyway."""

MOST_STIFF = 1_000.0
"""Stiffness, in transitions of a relaxation, above which no coordinates of a fit of many effects
are of use."""

LOWEST_SCALE = -7.5
"""Quantile of log s of probability 1e-4 in standard deviations from its mean, if s is half-normal:
log |N(0, 1)| has the mean -0.635, the standard deviation 1.11 and the quantile log(1.25e-4). A
walker of the longest warm-up has about as many independent draws."""

HIGHEST_SCALE = 2.33
"""The same of probability 0.99 of a Gaussian log s."""

GRID_OF_WEIGHTS = 41
"""Number of weights from 0 to 1 that are compared; stiffness changes little between neighbours."""
