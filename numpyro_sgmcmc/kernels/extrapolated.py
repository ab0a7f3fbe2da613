"""Richardson-Romberg extrapolation of SGLD and of SGHMC."""

from collections.abc import Callable
from typing import Any, Literal, final

from numpyro.infer import init_to_uniform

from numpyro_sgmcmc.gradient import AbstractGradient
from numpyro_sgmcmc.kernels.richardson_romberg import AbstractRichardsonRomberg
from numpyro_sgmcmc.kernels.sghmc import SGHMC
from numpyro_sgmcmc.kernels.sgld import SGLD
from numpyro_sgmcmc.minibatch import AbstractMinibatch
from numpyro_sgmcmc.preconditioner import AbstractPreconditioner


@final
class SGRRLD(AbstractRichardsonRomberg):
    """Stochastic gradient Richardson-Romberg Langevin dynamics (Durmus et al. 2016, section 3).

    Short for `RichardsonRomberg(SGLD(model, step_size, ...))`, which has the update: equations 4 to
    7 of the paper, whose gamma is our h. The bias of extrapolated estimates is of second order in
    h. Positions have shape (d,), and h has the units of z squared.

    References:
        Durmus, Simsekli, Moulines, Badeau and Richard 2016, "Stochastic Gradient Richardson-Romberg
        Markov Chain Monte Carlo",
        https://papers.nips.cc/paper/2016/hash/03f544613917945245041ea1581df0c2-Abstract.html

    Args:
        model: a NumPyro model. The kernel draws new rows for its plates with a `subsample_size` at
            every transition.
        step_size: h > 0 of the coarse walker, or a function of the transition count (0, 1, ...; the
            warm-up counts). None lets the warm-up choose h.
        gradient: gradient estimator: `Plain()`, `FixedPoint()`, `SVRG()` or `SAGA()`. None is
            `Plain()` if `step_size` is given; otherwise the warm-up chooses `Plain()` or
            `FixedPoint()`.
        temperature: T, which multiplies the variance of the injected noise. 1 samples the
            posterior, 0 optimises.
        minibatch: scheme that draws the rows of a minibatch. None is `UniformMinibatch()`.
        preconditioner: linear change of coordinates: `Diagonal(scale)`, `Dense(factor)` or
            `RMSProp()`. None is the identity if `step_size` is given; otherwise the warm-up
            estimates one.
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
    ) -> None:
        kernel = SGLD(
            model,
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
        )
        super().__init__(kernel)


@final
class SGRRHMC(AbstractRichardsonRomberg):
    """Richardson-Romberg extrapolation of SGHMC with Euler steps (Durmus et al. 2016, section 5.1).

    Short for `RichardsonRomberg(SGHMC(model, step_size, friction=friction, ...))`, which has the
    update. The bias of extrapolated estimates is of second order in h, and of third order with
    exact gradients. The paper's gamma is our h. Positions have shape (d,), and h has the units of
    z, which is the unit of time.

    References:
        Durmus, Simsekli, Moulines, Badeau and Richard 2016, "Stochastic Gradient Richardson-Romberg
        Markov Chain Monte Carlo",
        https://papers.nips.cc/paper/2016/hash/03f544613917945245041ea1581df0c2-Abstract.html

    Args:
        model: a NumPyro model. The kernel draws new rows for its plates with a `subsample_size` at
            every transition.
        step_size: h > 0 of the coarse walker, or a function of the transition count (0, 1, ...; the
            warm-up counts). None lets the warm-up choose h.
        friction: D > 0, in 1 / time. None is 1.5 times the square root of the mean curvature.
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
    ) -> None:
        kernel = SGHMC(
            model,
            step_size,
            friction=friction,
            gradient=gradient,
            temperature=temperature,
            minibatch=minibatch,
            preconditioner=preconditioner,
            noise_correction=noise_correction,
            increments=increments,
            num_steps=num_steps,
            max_num_steps=max_num_steps,
            init_strategy=init_strategy,
        )
        super().__init__(kernel)
