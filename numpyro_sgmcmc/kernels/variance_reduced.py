"""Langevin dynamics with control variates from the walker's own past: SVRG and SAGA."""

from collections.abc import Callable
from typing import Any, Literal, final

from numpyro.infer import init_to_uniform

from numpyro_sgmcmc.dynamics import Langevin
from numpyro_sgmcmc.gradient import SAGA, SVRG
from numpyro_sgmcmc.kernels.base import AbstractKernel
from numpyro_sgmcmc.minibatch import AbstractMinibatch
from numpyro_sgmcmc.preconditioner import AbstractPreconditioner


@final
class SVRGLD(AbstractKernel):
    """Langevin dynamics with variance-reduced gradients, SVRG (Dubey et al. 2016, algorithm 1).

    `SGLD`, z <- z - h g(z) + sqrt(2) dW, with the gradient estimate g(z) = grad U_S(z) - grad
    U_S(a) + grad U(a), where the anchor a is the walker's position at the last renewal. Each
    renewal is a pass over the whole data. The paper's snapshot is a, and its epoch length is
    `period`. z, a and g have shape (d,), and h has the units of z squared. For another gradient
    estimator use `SGLD(model, gradient=...)`.

    The bias is of first order in h. The variance of the gradient noise is at most about twice that
    of `SGLDFP`, and no mode has to be found.

    References:
        Dubey et al. 2016, "Variance Reduction in Stochastic Gradient Langevin Dynamics",
        https://papers.nips.cc/paper/6293-variance-reduction-in-stochastic-gradient-langevin-dynamics

    Args:
        model: a NumPyro model. The kernel draws new rows for its plates with a `subsample_size` at
            every transition.
        step_size: h > 0, or a function of the transition count (0, 1, ...; the warm-up counts).
            None lets the warm-up choose h.
        period: number of transitions between two renewals of the anchor. None is one epoch: N / B,
            rounded up.
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
            other.
    """

    def __init__(
        self,
        model: Callable,
        step_size: float | Callable[[Any], Any] | None = None,
        *,
        period: int | None = None,
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
            gradient=SVRG(period),
            temperature=temperature,
            minibatch=minibatch,
            preconditioner=preconditioner,
            noise_correction=noise_correction,
            increments=increments,
            num_steps=num_steps,
            max_num_steps=max_num_steps,
            init_strategy=init_strategy,
        )


@final
class SAGALD(AbstractKernel):
    """Langevin dynamics with a table of each row's last gradient (Dubey et al. 2016, algorithm 2).

    `SGLD`, z <- z - h g(z) + sqrt(2) dW, with the gradient estimate g(z) = mean over rows i of S of
    (g_i(z) - t_i) + mean over all rows of t_i. Here g_i is the gradient of the potential with row i
    as the only data, weighted by N, and t_i is g_i at the position at which row i was last used;
    the rows of S get t_i <- g_i(z). The paper's table has no part of the prior. z, g and t_i have
    shape (d,), and h has the units of z squared. For another gradient estimator use
    `SGLD(model, gradient=...)`.

    The bias is of first order in h. The gradient noise is about that of `SVRGLD`, without passes
    over the whole data, but each chain needs memory for a table of N d numbers.

    References:
        Dubey et al. 2016, "Variance Reduction in Stochastic Gradient Langevin Dynamics",
        https://papers.nips.cc/paper/6293-variance-reduction-in-stochastic-gradient-langevin-dynamics

    Args:
        model: a NumPyro model with exactly one subsampled plate. The kernel draws new rows for it
            at every transition.
        step_size: h > 0, or a function of the transition count (0, 1, ...; the warm-up counts).
            None lets the warm-up choose h.
        max_bytes: size limit of one chain's table. A larger table raises an error.
        temperature: T, which multiplies the variance of the injected noise. 1 samples the
            posterior, 0 optimises.
        minibatch: scheme that draws the rows of a minibatch, independently of each other. None is
            `UniformMinibatch()`.
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
        TypeError: if an argument has the wrong type, or minibatches are drawn in epochs.
        ValueError: if a number is negative, zero or not finite, or if two options exclude each
            other. On `init`, if the model does not have exactly one subsampled plate, or the table
            would be larger than `max_bytes`.
    """

    def __init__(
        self,
        model: Callable,
        step_size: float | Callable[[Any], Any] | None = None,
        *,
        max_bytes: int = 2**30,
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
            gradient=SAGA(max_bytes),
            temperature=temperature,
            minibatch=minibatch,
            preconditioner=preconditioner,
            noise_correction=noise_correction,
            increments=increments,
            num_steps=num_steps,
            max_num_steps=max_num_steps,
            init_strategy=init_strategy,
        )
