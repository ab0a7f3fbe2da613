"""Stochastic gradient Langevin dynamics, plain and with a fixed-point gradient."""

from collections.abc import Callable
from typing import Any, Literal, final

from numpyro.infer import init_to_uniform

from numpyro_sgmcmc.dynamics import Langevin
from numpyro_sgmcmc.gradient import AbstractGradient, FixedPoint
from numpyro_sgmcmc.kernels.base import AbstractKernel
from numpyro_sgmcmc.minibatch import AbstractMinibatch
from numpyro_sgmcmc.preconditioner import AbstractPreconditioner


@final
class SGLD(AbstractKernel):
    """Stochastic gradient Langevin dynamics (Welling and Teh 2011).

    Simulates dz = -grad U(z) dt + sqrt(2 T) dW by z <- z - h g + sqrt(2) dW, dW ~ N(0, T h I),
    where g is an unbiased minibatch estimate of grad U. h is gamma in Durmus et al. (2016) and in
    Brosse, Durmus and Moulines (2018); Welling and Teh's epsilon is 2 h. With `temperature=0` the
    kernel is SGD. For a model without subsampling it is unadjusted Langevin Monte Carlo. z, g and
    dW have shape (d,), and h has the units of z squared.

    The bias is of first order in h. The noise of the plain gradient has the variance V = (N / B) H
    in whitened coordinates, which makes the variance along a direction of curvature H too large by
    the relative amount h (V + H) / 2. Choose h well below B / (N H), or use
    `gradient=FixedPoint()`.

    References:
        Welling and Teh 2011, "Bayesian learning via stochastic gradient Langevin dynamics",
        https://icml.cc/2011/papers/398_icmlpaper.pdf

    Args:
        model: a NumPyro model. The kernel draws new rows for its plates with a `subsample_size` at
            every transition.
        step_size: h > 0, or a function of the transition count (0, 1, ...; the warm-up counts).
            None lets the warm-up choose h.
        gradient: gradient estimator: `Plain()`, `FixedPoint()`, `SVRG()` or `SAGA()`. None is
            `Plain()` if `step_size` is given; otherwise the warm-up chooses `Plain()` or
            `FixedPoint()`.
        temperature: T, which multiplies the variance of the injected noise. 1 samples the
            posterior, 0 optimises.
        minibatch: scheme that draws the rows of a minibatch. None is `UniformMinibatch()`; a
            warm-up that chooses the step size may choose `ReshuffledMinibatch()` instead.
        preconditioner: linear change of coordinates: `Diagonal(scale)`, `Dense(factor)` or
            `RMSProp()`. None is the identity if `step_size` is given; otherwise the warm-up
            estimates one.
        noise_correction: "dense" or "diagonal" measures the covariance of the gradient noise and
            reduces the injected noise by it. None does so only if `step_size` is None and gradient
            noise would limit the step size. False never does.
        increments: "normal", or "binomial" for centred counts of 16 random bits, which cost less
            and leave covariances as they are. None is "binomial" in 65,536 or more dimensions on a
            CPU with a constant preconditioner, and "normal" otherwise.
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
            Langevin(),
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


@final
class SGLDFP(AbstractKernel):
    """Langevin dynamics with a fixed-point gradient (Brosse, Durmus and Moulines 2018, equation 5).

    `SGLD`, z <- z - h g(z) + sqrt(2) dW, with the gradient estimate g(z) = grad U_S(z) - grad
    U_S(a) + grad U(a), where U_S is the potential of a minibatch and a is the anchor. The paper
    places a at the mode, where the last term is zero. This kernel keeps the term, so the estimate
    is unbiased for every anchor. The paper's gamma is h, its theta* is a, and its p is B. z, a and
    g have shape (d,), and h has the units of z squared. For another gradient estimator use
    `SGLD(model, gradient=...)`.

    The bias is of first order in h. The gradient noise decreases with the width of the posterior:
    at h = eta / N, with eta fixed, the stationary variance tends to the posterior's as N grows,
    unlike SGLD's.

    References:
        Brosse, Durmus and Moulines 2018, "The promises and pitfalls of Stochastic Gradient Langevin
        Dynamics", https://arxiv.org/abs/1811.10072

    Args:
        model: a NumPyro model. The kernel draws new rows for its plates with a `subsample_size` at
            every transition.
        step_size: h > 0, or a function of the transition count (0, 1, ...; the warm-up counts).
            None lets the warm-up choose h.
        anchor: unconstrained values by site name. None searches for a mode (Adam on minibatches,
            then L-BFGS and Newton steps on the full gradient) and starts the chains there.
        temperature: T, which multiplies the variance of the injected noise. 1 samples the
            posterior, 0 optimises.
        minibatch: scheme that draws the rows of a minibatch. None is `UniformMinibatch()`; a
            warm-up that chooses the step size may choose `ReshuffledMinibatch()` instead.
        preconditioner: linear change of coordinates: `Diagonal(scale)`, `Dense(factor)` or
            `RMSProp()`. None is the identity if `step_size` is given; otherwise the warm-up
            estimates one.
        noise_correction: "dense" or "diagonal" measures the covariance of the gradient noise and
            reduces the injected noise by it. None does so only if `step_size` is None and gradient
            noise would limit the step size. False never does.
        increments: "normal", or "binomial" for centred counts of 16 random bits, which cost less
            and leave covariances as they are. None is "binomial" in 65,536 or more dimensions on a
            CPU with a constant preconditioner, and "normal" otherwise.
        num_steps: number of transitions in one MCMC iteration. Only the last one is kept. None is 1
            if `step_size` is given; otherwise the warm-up chooses a number at which a draw is worth
            at least 0.3 independent ones.
        max_num_steps: the largest number that the warm-up may choose. It is not used if `num_steps`
            is given.
        init_strategy: NumPyro's strategy for the starting point of the chains, or of the search for
            a mode.

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: if a number is negative, zero or not finite, or if two options exclude each
            other. On `init`, if the anchor does not fit the model.
    """

    def __init__(
        self,
        model: Callable,
        step_size: float | Callable[[Any], Any] | None = None,
        *,
        anchor: dict[str, Any] | None = None,
        temperature: float = 1.0,
        minibatch: AbstractMinibatch | None = None,
        preconditioner: AbstractPreconditioner | None = None,
        noise_correction: Literal["diagonal", "dense", False] | None = None,
        increments: Literal["normal", "binomial"] | None = None,
        num_steps: int | None = None,
        max_num_steps: int = 1_024,
        init_strategy: Callable = init_to_uniform,
    ) -> None:
        super().__init__(
            model,
            Langevin(),
            step_size,
            gradient=FixedPoint(anchor),
            temperature=temperature,
            minibatch=minibatch,
            preconditioner=preconditioner,
            noise_correction=noise_correction,
            increments=increments,
            num_steps=num_steps,
            max_num_steps=max_num_steps,
            init_strategy=init_strategy,
        )
