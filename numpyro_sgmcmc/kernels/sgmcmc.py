"""A kernel of any dynamics with any gradient."""

from collections.abc import Callable
from typing import Any, Literal, final

from numpyro.infer import init_to_uniform

from numpyro_sgmcmc.dynamics import AbstractDynamics
from numpyro_sgmcmc.gradient import AbstractGradient
from numpyro_sgmcmc.kernels.base import AbstractKernel
from numpyro_sgmcmc.minibatch import AbstractMinibatch
from numpyro_sgmcmc.preconditioner import AbstractPreconditioner


@final
class SGMCMC(AbstractKernel):
    """A stochastic-gradient kernel composed of any parts.

    For example `SGMCMC(model, 1e-5, dynamics=Splitting(friction=20.0), gradient=FixedPoint())`.

    With the preconditioner's map S, z = S y, a transition evaluates the gradient estimate g at z +
    S l, where l is the lookahead of the dynamics. The dynamics turn S' g and the Brownian increment
    dW ~ N(0, T h I) into a displacement u, and z <- z + S u. The docstrings of the parts state the
    equations, the orders of their biases and the papers. z, g, l and u have shape (d,).

    Args:
        model: a NumPyro model. The kernel draws new rows for its plates with a `subsample_size` at
            every transition.
        step_size: h > 0, or a function of the transition count (0, 1, ...; the warm-up counts).
            None lets the warm-up choose h.
        dynamics: discretised diffusion, such as `Langevin()`, `Hamiltonian(friction)`,
            `Splitting(friction)`, `ExactFriction(friction)`, `NoseHoover(friction)` or
            `Microcanonical(friction)`.
        gradient: gradient estimator: `Plain()`, `FixedPoint()`, `SVRG()` or `SAGA()`. None is
            `Plain()` if `step_size` is given; otherwise the warm-up chooses `Plain()` or
            `FixedPoint()`.
        temperature: T, which multiplies the variance of the injected noise. 1 samples the
            posterior, 0 optimises.
        minibatch: scheme that draws the rows of a minibatch. None is `UniformMinibatch()`; a
            warm-up that chooses the step size may choose `ReshuffledMinibatch()` instead.
        preconditioner: linear change of coordinates: `Diagonal(scale)`, `Dense(factor)` or, with
            Langevin dynamics, `RMSProp()`. None is the identity if `step_size` is given; otherwise
            the warm-up estimates one.
        noise_correction: "dense" or "diagonal" measures the covariance of the gradient noise and
            reduces the injected noise by it. None does so only if `step_size` is None and gradient
            noise would limit the step size. False never does.
        increments: "normal", or "binomial" for centred counts of 16 random bits, which cost less
            and leave covariances as they are. None is "binomial" for Langevin dynamics with a
            constant preconditioner in 65,536 or more dimensions on a CPU, and "normal" otherwise.
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
        dynamics: AbstractDynamics,
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
            dynamics,
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
