"""Stochastic-gradient microcanonical Langevin Monte Carlo."""

from collections.abc import Callable
from typing import Any, Literal, final

from numpyro.infer import init_to_uniform

from numpyro_sgmcmc.dynamics import Microcanonical
from numpyro_sgmcmc.gradient import AbstractGradient
from numpyro_sgmcmc.kernels.base import AbstractKernel
from numpyro_sgmcmc.minibatch import AbstractMinibatch
from numpyro_sgmcmc.preconditioner import AbstractPreconditioner


@final
class SGMCLMC(AbstractKernel):
    """Stochastic-gradient microcanonical Langevin dynamics: a momentum of fixed length that turns.

    Simulates dz = p dt, dp = -d / (d - 1) (I - p p' / (d T)) grad U(z) dt + noise, with p . p = d T
    (see `Microcanonical`, which has the update). Noise turns p at the rate D. z, p and g have shape
    (d,), and h has the units of z, which is the unit of time. h and D compare with those of
    `SGHMCSplit`. Symbols of Robnik and Seljak: the step size is sqrt(d) h, the decoherence length
    sqrt(d) / D.

    With exact gradients the bias is of second order in h. Gradient noise of variance V_i along
    direction i, of mean V, changes the variance along it by the factor (1 + h V_i / (2 D)) / (1 + h
    V / (2 D)), if d is large. Noise that all directions share leaves no error of first order; where
    it differs, the noisier directions are too wide and the others too narrow. A preconditioner that
    makes the noise alike, such as `Diagonal(1 / sqrt(V))`, allows larger steps.

    The momentum has a bounded length, so that the walker never runs away, whatever the step size:
    a run with too large a step size looks like one that mixes. `diagnose` compares the step size
    with the curvature. The warm-up chooses the step size that suits noise in few directions, and no
    minibatches by epochs: a larger step size, or `minibatch=SweepMinibatch()`, may do as well.

    References:
        Robnik and Seljak 2023, "Microcanonical Langevin Monte Carlo",
        https://arxiv.org/abs/2303.18221

        Sommer et al. 2026, minibatches with scales from the gradient noise,
        https://arxiv.org/abs/2602.06500

    Args:
        model: a NumPyro model. The kernel draws new rows for its plates with a `subsample_size` at
            every transition.
        step_size: h > 0, or a function of the transition count (0, 1, ...; the warm-up counts).
            None lets the warm-up choose h.
        friction: D > 0, in 1 / time: the rate at which noise turns the momentum. None is 1.5 times
            the square root of the mean curvature.
        gradient: gradient estimator: `Plain()`, `FixedPoint()`, `SVRG()` or `SAGA()`. None is
            `Plain()` if `step_size` is given; otherwise the warm-up chooses `Plain()` or
            `FixedPoint()`.
        temperature: T > 0. 1 samples the posterior.
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
            other. On `init`, if the model has fewer than two unconstrained parameters.
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
            Microcanonical(friction),
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
