"""The stochastic gradient Nose-Hoover thermostat."""

from collections.abc import Callable
from typing import Any, Literal, final

from numpyro.infer import init_to_uniform

from numpyro_sgmcmc.dynamics import NoseHoover
from numpyro_sgmcmc.gradient import AbstractGradient
from numpyro_sgmcmc.kernels.base import AbstractKernel
from numpyro_sgmcmc.minibatch import AbstractMinibatch
from numpyro_sgmcmc.preconditioner import AbstractPreconditioner


@final
class SGNHT(AbstractKernel):
    """Stochastic gradient Nose-Hoover thermostat (Ding et al. 2014), by symmetric splitting.

    Simulates dz = p dt, dp = -grad U(z) dt - xi p dt + sqrt(2 A T) dW, dxi = (p . p / d - T) dt.
    The update is that of `SGHMCSplit` with the friction xi in place of D; xi moves with z, in both
    drifts (see `NoseHoover`). The friction xi compensates gradient noise of unknown variance V,
    provided that V is the same in all directions. The paper's A is the argument `friction`, and its
    h is ours. z, p and g have shape (d,), xi is a scalar, and h has the units of z, which is the
    unit of time.

    With exact gradients the bias is of second order in h. The same holds with isotropic gradient
    noise, because xi settles near A + h V / 2. A preconditioner that whitens the noise makes it
    isotropic.

    References:
        Ding et al. 2014, "Bayesian Sampling Using Stochastic Gradient Thermostats",
        https://papers.nips.cc/paper/5592-bayesian-sampling-using-stochastic-gradient-thermostats

    Args:
        model: a NumPyro model. The kernel draws new rows for its plates with a `subsample_size` at
            every transition.
        step_size: h > 0, or a function of the transition count (0, 1, ...; the warm-up counts).
            None lets the warm-up choose h.
        friction: A > 0, in 1 / time: the friction without gradient noise. None is 1.5 times the
            square root of the mean curvature.
        gradient: gradient estimator: `Plain()`, `FixedPoint()`, `SVRG()` or `SAGA()`. None is
            `Plain()` if `step_size` is given; otherwise the warm-up chooses `Plain()` or
            `FixedPoint()`.
        temperature: T, which multiplies the variance of the injected noise. 1 samples the
            posterior, 0 optimises.
        minibatch: scheme that draws the rows of a minibatch. None is `UniformMinibatch()`.
        preconditioner: linear change of coordinates, `Diagonal(scale)` or `Dense(factor)`. None is
            the identity if `step_size` is given; otherwise the warm-up estimates one.
        noise_correction: "dense" or "diagonal" measures the covariance of the gradient noise and
            reduces the injected noise by it. None does so only if `step_size` is None and gradient
            noise would limit the step size. False never does.
        increments: "normal", or "binomial" for centred counts of 16 random bits, which cost less
            and leave covariances as they are. None is "normal".
        num_steps: number of transitions in one MCMC iteration. Only the last one is kept. None is 1
            if `step_size` is given; otherwise the warm-up chooses a number at which a draw is worth
            at least 0.3 independent ones.
        max_num_steps: the largest number that the warm-up may choose. It is not used if `num_steps`
            is given.
        init_strategy: NumPyro's strategy for the starting point of the chains, or of the search for
            a mode.
        latent_move: move of those discrete latents in the subsampled plate that a chain keeps for
            all rows: "gibbs", or a function `move(rng_key, gibbs_sites, hmc_sites, rows)`. Its
            first three arguments are those of NumPyro's `HMCGibbs`; `rows` holds the row indices.
            None sums discrete latents out where that is possible, and uses "gibbs" elsewhere.
        recentre: whether a warm-up that chooses everything may move effects of hierarchies, latents
            of rows among them, in coordinates between the centred and the non-centred form. Draws
            are those of the model's own sites either way.

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: if a number is negative, zero or not finite, or if two options exclude each
            other.
    """

    def __init__(
        self,
        model: Callable,
        step_size: float | Callable[[Any], Any] | None = None,
        *,
        friction: float | None = None,
        gradient: AbstractGradient | None = None,
        temperature: float = 1.0,
        minibatch: AbstractMinibatch | None = None,
        preconditioner: AbstractPreconditioner | None = None,
        noise_correction: Literal["diagonal", "dense", False] | None = None,
        increments: Literal["normal", "binomial"] | None = None,
        num_steps: int | None = None,
        max_num_steps: int = 1_024,
        init_strategy: Callable = init_to_uniform,
        latent_move: Callable | Literal["gibbs"] | None = None,
        recentre: bool = True,
    ) -> None:
        super().__init__(
            model,
            NoseHoover(friction),
            step_size,
            gradient=gradient,
            temperature=temperature,
            minibatch=minibatch,
            preconditioner=preconditioner,
            noise_correction=noise_correction,
            increments=increments,
            num_steps=num_steps,
            max_num_steps=max_num_steps,
            init_strategy=init_strategy,
            latent_move=latent_move,
            recentre=recentre,
        )
