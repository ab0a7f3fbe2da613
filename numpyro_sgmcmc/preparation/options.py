"""A user's choices for a kernel."""

from collections.abc import Callable
from dataclasses import dataclass, is_dataclass, replace
from typing import Any, final

from numpyro_sgmcmc.dynamics import AbstractDynamics
from numpyro_sgmcmc.gradient import AbstractGradient, FixedPoint, Plain
from numpyro_sgmcmc.minibatch import AbstractMinibatch
from numpyro_sgmcmc.model import Structure
from numpyro_sgmcmc.preconditioner import AbstractPreconditioner
from numpyro_sgmcmc.staleness import Staleness
from numpyro_sgmcmc.state import Tuned


@final
@dataclass(frozen=True, eq=False)
class Options:
    """A kernel's options. The warm-up chooses those that are None.

    Attributes:
        dynamics: the dynamics, with or without a friction.
        step_size: a function of the transition count, or None.
        has_constant_step_size: whether the step size is constant; true if the warm-up chooses it.
        gradient: the gradient estimator, or None.
        temperature: T.
        minibatch: the minibatch scheme.
        has_open_minibatch: whether the user left the scheme open, so that the warm-up may choose
            epochs.
        preconditioner: the preconditioner, or None.
        noise_correction: "diagonal", "dense", False for none, or None.
        increments: "normal", "binomial", or None for the default of dynamics and dimension.
        recentre: whether the warm-up may choose other coordinates of effects.
        num_steps: transitions in one MCMC iteration; None if the warm-up chooses it.
        max_num_steps: the largest number that the warm-up may choose.
        init_strategy: a NumPyro initialisation strategy, such as `init_to_uniform`.
        latent_move: how discrete latents of rows are moved: "gibbs", a function, or None to sum
            them out where that is possible.
        staleness: how old gradients are, and the remedy; None if they are never old.
    """

    dynamics: AbstractDynamics
    step_size: Callable[[Any], Any] | None
    has_constant_step_size: bool
    gradient: AbstractGradient | None
    temperature: float
    minibatch: AbstractMinibatch
    preconditioner: AbstractPreconditioner | None
    noise_correction: str | bool | None
    num_steps: int | None
    max_num_steps: int
    init_strategy: Callable
    latent_move: Callable | str | None = None
    staleness: Staleness | None = None
    increments: str | None = None
    has_open_minibatch: bool = False
    recentre: bool = False

    @property
    def anchor(self) -> dict[str, Any] | None:
        """The user's anchor: unconstrained values by site name, or None."""
        return None if self.gradient is None else self.gradient.anchor

    @property
    def may_recentre(self) -> bool:
        """Whether the warm-up may choose other coordinates of effects.

        It may not where the user's other choices belong to the coordinates of the model.
        """
        is_open = self.step_size is None and self.preconditioner is None and self.gradient is None
        return self.recentre and is_open and self.temperature == 1 and self.staleness is None

    def scheme(self, tuned: Tuned) -> AbstractMinibatch:
        """Return the minibatch scheme of a chain with these settings."""
        return self.minibatch if tuned.scheme is None else tuned.scheme

    def with_gradient(self, gradient: AbstractGradient) -> "Options":
        """Return the options with this gradient estimator, if the user gave none."""
        return self if self.gradient is not None else replace(self, gradient=gradient)


def candidate_gradients(options: Options, structure: Structure) -> tuple[AbstractGradient, ...]:
    """Return the gradient estimators to choose from, the preferred one first.

    Raises:
        ValueError: if a control variate is requested for a random density.
    """
    gradient = options.gradient
    if not structure.plates and (gradient is None or gradient.is_control_variate):
        # Without a subsampled plate every estimator is the exact gradient.
        return (Plain(),)
    if gradient is None:
        is_open = options.step_size is None and not structure.is_random
        return (FixedPoint(), Plain()) if is_open else (Plain(),)
    if gradient.is_control_variate and structure.is_random:
        raise ValueError(
            f"Expected a model with a deterministic density for {type(gradient).__name__}; got one"
            " that draws random numbers (`numpyro.prng_key`). The estimator's full gradient would"
            " keep one draw of them fixed. Use gradient=Plain()."
        )
    return (gradient,)


def without_anchor(gradient: AbstractGradient) -> AbstractGradient:
    """Return the estimator without its anchor, which is kept in the walker's state instead."""
    if gradient.anchor is None:
        return gradient
    assert is_dataclass(gradient)
    return replace(gradient, anchor=None)
