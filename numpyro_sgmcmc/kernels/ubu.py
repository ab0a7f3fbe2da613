"""Kinetic Langevin dynamics by UBU splitting."""

from collections.abc import Callable
from typing import Any, Literal, final

from numpyro.infer import init_to_uniform

from numpyro_sgmcmc.dynamics import ExactFriction
from numpyro_sgmcmc.gradient import AbstractGradient
from numpyro_sgmcmc.kernels.base import AbstractKernel
from numpyro_sgmcmc.minibatch import AbstractMinibatch
from numpyro_sgmcmc.preconditioner import AbstractPreconditioner


@final
class UBU(AbstractKernel):
    """Kinetic Langevin dynamics by UBU splitting, with one gradient a step.

    Simulates dz = p dt, dp = -grad U(z) dt - D p dt + sqrt(2 D T) dW by kicks p <- p - h g(z).
    Between two kicks z and p follow the exact solution of the equations without the gradient, for a
    time h, in which they get jointly normal noise (`ExactFriction` has the formulas). D is gamma in
    the papers, and h is theirs. z, p and g have shape (d,); h has the units of z, which is the unit
    of time. With `minibatch=SweepMinibatch()`, which uses an epoch's minibatches forwards and then
    backwards, this is SMS-UBU (Paulin, Whalley, Chada and Leimkuhler 2024). Draws are taken at the
    points where the gradient is evaluated, which are in the middle of the papers' steps.

    With exact gradients the bias of the position is of second order in h, and paths have strong
    order two. On U = lambda z^2 / 2 the relative error of the variance is h^2 lambda / 12, whatever
    the friction; that of `SGHMCSplit` is -(D h)^2 / 24. Gradient noise of variance V adds h V /
    (2 D), of first order. With sweeps this term cancels.

    Relative errors of the variance in percent, at one gradient a step for both, on a Gaussian with
    lambda = 1 and ten minibatches (V = N / B), from the exact recursion:

    =====  ====  =======================  =======================  =======================
    D      h     exact gradients          independent minibatches  sweeps
    =====  ====  =======================  =======================  =======================
    ..     ..    `UBU`, `SGHMCSplit`      `UBU`, `SGHMCSplit`      `UBU`, `SGHMCSplit`
    1.5    0.1   0.08, -0.09              30.2, 29.9               1.9, 1.7
    3      0.1   0.08, -0.37              15.1, 14.6               0.9, 0.4
    6      0.1   0.08, -1.48              7.6, 5.9                 0.4, -1.2
    6      0.2   0.33, -5.76              15.5, 8.4                1.9, -4.5
    =====  ====  =======================  =======================  =======================

    `UBU` has the smaller error where D^2 is well above 2 lambda: with much friction, or in
    directions of small curvature, where the error of `SGHMCSplit` does not decrease with lambda.
    With the friction that the warm-up chooses both errors are similar, and `UBU` draws twice as
    many random numbers.

    References:
        Sanz-Serna and Zygalakis 2021, "Wasserstein distance estimates for the distributions of
        numerical approximations to ergodic stochastic differential equations",
        https://jmlr.org/papers/v22/21-0453.html

        Paulin, Whalley, Chada and Leimkuhler 2024, "Sampling from Bayesian Neural Network
        Posteriors with Symmetric Minibatch Splitting Langevin Dynamics",
        https://arxiv.org/abs/2410.19780

    Args:
        model: a NumPyro model. The kernel draws new rows for its plates with a `subsample_size` at
            every transition.
        step_size: h > 0, or a function of the transition count (0, 1, ...; the warm-up counts).
            None lets the warm-up choose h.
        friction: D > 0, in 1 / time. None is 1.5 times the square root of the mean curvature.
        gradient: gradient estimator: `Plain()`, `FixedPoint()`, `SVRG()` or `SAGA()`. None is
            `Plain()` if `step_size` is given; otherwise the warm-up chooses `Plain()` or
            `FixedPoint()`.
        temperature: T, which multiplies the variance of the injected noise. 1 samples the
            posterior, 0 optimises.
        minibatch: scheme that draws the rows of a minibatch. None is `UniformMinibatch()`; a
            warm-up that chooses the step size may choose `ReshuffledMinibatch()` instead.
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
            ExactFriction(friction),
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
