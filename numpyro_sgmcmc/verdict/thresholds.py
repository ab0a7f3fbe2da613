"""What a verdict asks of a run, and what it may cost: every threshold with its reason."""

SD_TOLERANCE = 0.05
"""Largest relative error of a standard deviation: what a warm-up allows its step size to cause."""

MEAN_TOLERANCE = 0.1
"""Largest error of a mean, in posterior standard deviations: it moves an interval by 5 % of its
length."""

EFFECTIVE_DRAWS = 400
"""Smallest effective sample size: below it neither R-hat nor a standard error is reliable (Vehtari,
Gelman, Simpson, Carpenter and Bürkner 2021, arXiv:1903.08008)."""

LARGEST_R_HAT = 1.02
"""1.01, as the same authors advise, plus what an effective sample size of 400 leaves to chance."""

DIFFERENT_MODES = 2.0
"""Standard deviations between the means of chains from which on they sit in different modes: the
density of two equal normal distributions together has two modes from there on."""

FEW_EFFECTIVE_DRAWS = 100
UNMIXED_R_HAT = 1.1
"""Below that effective sample size, or above that R-hat, noise and curvature were measured at draws
that need not be the posterior's: too short a run is then named before any other cause."""

COARSE = 2.0
"""Times the step size that a warm-up would choose for the curvature: from there on the error of the
step size is no longer small, even where a Gaussian would not show it."""

STANDARD_ERRORS = 3.0
"""Standard errors of the measured error of a reported estimate that must fit between it and the
tolerance: one coordinate's error beyond the tolerance passes with probability 0.2 %. A run passes
only if every coordinate does, so that many coordinates make it no more likely."""

UNSEEN_BIAS = 0.05
"""Probability with which a kernel whose own error is as large as a tolerance passes, its Monte
Carlo error making up for it by chance: the level of a test of equivalence (Schuirmann 1987)."""

POOLED = 50
"""Entries from which on a site's errors are judged together: the mean square of so many errors is
known to a fifth."""

ALONE = 4.0
"""Tolerances from which on the error of a single entry of such a site must stand out from the
others'."""

FALSE_ALARMS = 0.01
"""Probability that a run without bias is called wrong by measurement, over all its coordinates:
Bonferroni's bound."""

HEAVIEST_TAIL = 0.5
"""Tail index from which on a distribution has no finite variance."""

HEAVY = 4.0
"""Kurtosis from which on a coordinate's normal scores are judged in its place, unless its standard
deviation is known well. It is 3 for a Gaussian, and 4.2 for a logistic distribution."""

ROUNDING = 1e-12
"""Standard deviation relative to the mean up to which a coordinate did not move: the mean of equal
numbers has rounding errors of their sum."""

TAIL_DRAWS = 10_000
"""Draws from which a tail index is estimated: the largest 100 of them give it to a tenth."""

BATCHES = 32
"""Batches of consecutive draws behind a standard error. From 400 effective draws on a batch then
holds some 12 of them, so that batches are nearly independent."""

DENSE = 500
"""Up to this dimension the draws' whole covariance is used, given `DRAWS_BY_DIMENSION` d draws."""

DRAWS_BY_DIMENSION = 4
GRADIENT_POINTS = 2_000
"""Draws at which the gradient is evaluated at least; in `DENSE` mode 6 d."""

MORE_GRADIENT_POINTS = 100_000
"""Draws at which it is evaluated where gradients of all rows there stay within `GRADIENT_ROWS`. The
relative variance that gradients ask for has a standard error of c / sqrt(points), with c up to
about 3 for the densities of the fuzz (`ratio_moments` on a Student t): 2,000 points would bound no
such standard deviation to `SD_TOLERANCE`, however many draws there are."""

MORE_GRADIENT_NUMBERS = 2**25
"""Entries of all gradients at more than `GRADIENT_POINTS` draws: regressions hold copies."""

GRADIENT_NUMBERS = 2**26
"""Entries of all gradients together that are kept in memory."""

GRADIENT_ROWS = 2 * 10**7
"""Gradients of single rows that a verdict may cost, for each walker, however short the run is."""

SHARE_OF_RUN = 0.08
"""Of the gradients of single rows that a longer run took: what a verdict of it may cost. With its
other parts it then takes a tenth of the run's time."""

SHARE_OF_ADVICE = 0.25
"""Of the gradients of single rows that more draws would take: what a verdict may cost before it
asks for these draws. A second look with more rows is worth it where it at least doubles them."""

SECOND_LOOK = 3
"""Multiple of `GRADIENT_ROWS` that a second look may cost."""

SECOND_SHARE = 1 / 3
"""Of the gradients of single rows that a longer run took: what a second look may cost."""

ENOUGH_ROWS = 5_000
"""Rows of a gradient, where there are more, that leave it so little noise that more draws with that
many rows tell more than fewer draws with more rows."""

SMALL_NOISE = 0.02
"""Variance of a gradient estimate's noise, relative to the gradient's own, that is small enough:
over `GRADIENT_POINTS` draws it moves a standard deviation by 0.2 %, where the tolerance is 5 %."""

LARGE_NOISE = 0.25
"""The same variance from which on a first look would ask for a second one. It is 0.34 for late
flights, whose first look did. With 0.11, for classes in schools, one look is enough."""

EXPLAINED = 0.9
"""Share of the draws' variation that gradients must explain for a regression of the draws on them:
the rest is the share by which it may understate an error."""

MODES_APART = 0.5
"""Share below which gradients say too little of the proportion of two modes."""

BIMODAL = 5 / 9
"""Bimodality coefficient of a uniform distribution, (skewness^2 + 1) / kurtosis: larger values
point to several modes (SAS Institute 1990, The CLUSTER procedure)."""

DRAWS_FOR_STEIN = 400

LANCZOS_STEPS = 40
MOST_BETA = 2.0
"""Largest coefficient of a control variate of second order, which is 1 on a Gaussian."""

HESSIAN_COST = 3
"""What the product of a Hessian with a vector costs, in gradients."""

MOST_HESSIANS = 64
"""Draws over which the Hessian is averaged, if that many are affordable: at one draw, the scale and
the effects of a hierarchy curve each other by as much as a typical effect is wide."""

SOFT_CURVATURE = 0.5
"""Curvature, in units in which every coordinate has variance 1, below which a direction is wider
than coordinates one by one can show."""

SOFT_DIRECTIONS = 16
"""Directions of that kind that are tested; where there are more, coordinates cannot be checked.
Crossed effects have a band of them, of which `LANCZOS_STEPS` find a dozen along its width."""

ROWS_LOOKED_AT = 100
"""Rows of an observed site whose log likelihoods and fitted values are looked at."""

OTHER_ROWS = 1.25
"""By what factor rows looked at must have more effective draws than are needed, because the slowest
of other rows may have fewer: 388 for held-out digits where 100 rows of the data had 469."""

LINEAR = 0.9
"""Share of a function's variance that a regression on the position must explain for theory, which
is linear, to speak of it."""

LONGEST_EPOCH = 1_024
"""Minibatches of an epoch up to which theory computes what is left of their noise."""

LEAST_VISITS = 0.5
"""Share of the draws on the side of another mode, relative to its probability, from which on it
counts as visited. Laplace approximations of the probability may be wrong by some 10 %."""

WIDE_LOG_SCALE = 0.4
"""Standard deviation of the logarithm of a hierarchy's scale from which on its effects had better
be non-centred: their curvature then varies by a factor of 5 within one standard deviation to either
side."""

LEAST_DETERMINED = 0.5
"""Standard deviation of an effect, in units of the scale, from which on the data hardly determine
it: at 0.5 a quarter of what is known of it comes from its prior, at 0.87 three quarters."""

MOST_BIAS = 0.01
"""Largest relative error of variances by noise in the regression of gradients on draws, for models
with latents of rows. Above it the draws' covariance takes the place of the regression's inverse."""
