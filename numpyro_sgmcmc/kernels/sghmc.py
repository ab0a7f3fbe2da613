"""Stochastic gradient Hamiltonian Monte Carlo with two integrators."""

from collections.abc import Callable
from typing import Any, Literal, final

from numpyro.infer import init_to_uniform

from numpyro_sgmcmc.dynamics import Hamiltonian, Splitting
from numpyro_sgmcmc.gradient import AbstractGradient
from numpyro_sgmcmc.kernels.base import AbstractKernel
from numpyro_sgmcmc.minibatch import AbstractMinibatch
from numpyro_sgmcmc.preconditioner import AbstractPreconditioner


@final
class SGHMC(AbstractKernel):
    """Stochastic gradient Hamiltonian Monte Carlo by semi-implicit Euler steps (Chen et al. 2014).

    Simulates dz = p dt, dp = -grad U(z) dt - D p dt + sqrt(2 D T) dW by p <- (1 - D h) p - h g +
    sqrt(2 D) dW, then z <- z + h p with the new p, dW ~ N(0, T h I). This is algorithm 1 on the
    poster of Chen, Ding and Carin (2015), whose h and D are ours. Chen, Fox and Guestrin (2014)
    write eta = h^2 and alpha = D h. z, p, g and dW have shape (d,); h has the units of z, which is
    the unit of time, and p has none. With `temperature=0` the kernel is SGD with momentum.

    With exact gradients the bias of the position is of second order in h, that of the momentum of
    first order (see `Hamiltonian`). Gradient noise of variance V adds h V / (2 D) to the relative
    variance.

    References:
        Chen, Fox and Guestrin 2014, "Stochastic Gradient Hamiltonian Monte Carlo",
        https://arxiv.org/abs/1402.4102

        Chen, Ding and Carin 2015, "On the Convergence of Stochastic Gradient MCMC Algorithms with
        High-Order Integrators", https://arxiv.org/abs/1610.06665

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
            Hamiltonian(friction),
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
class SGHMCSplit(AbstractKernel):
    """SGHMC by symmetric splitting (Chen, Ding and Carin 2015, section 4).

    Simulates dz = p dt, dp = -grad U(z) dt - D p dt + sqrt(2 D T) dW in five steps, each of which
    is solved exactly: drift z <- z + p h / 2, damp p <- exp(-D h / 2) p, kick p <- p - h g(z) +
    sqrt(2 D) dW with dW ~ N(0, T h I), damp, drift. h and D are the paper's. z, p, g and dW have
    shape (d,); h has the units of z, which is the unit of time, and p has none.

    With exact gradients the bias is of second order in h. Gradient noise of variance V adds h V /
    (2 D) to the relative variance. This term is of first order and no splitting removes it;
    `gradient=FixedPoint()` makes V smaller.

    References:
        Chen, Ding and Carin 2015, "On the Convergence of Stochastic Gradient MCMC Algorithms with
        High-Order Integrators", https://arxiv.org/abs/1610.06665

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
            Splitting(friction),
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
