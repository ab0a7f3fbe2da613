"""What a user chose of a kernel."""

from collections.abc import Callable
from dataclasses import dataclass, is_dataclass, replace
from typing import Any, final

from numpyro_sgmcmc.dynamics import AbstractDynamics
from numpyro_sgmcmc.gradient import AbstractGradient, FixedPoint, Plain
from numpyro_sgmcmc.minibatch import AbstractMinibatch
from numpyro_sgmcmc.model import Structure
from numpyro_sgmcmc.preconditioner import AbstractPreconditioner


@final
@dataclass(frozen=True, eq=False)
class Options:
    """A kernel's options; None leaves a choice to the warm-up.

    Attributes:
        dynamics: with or without its friction.
        step_size: a function of the transition count, or None.
        has_constant_step_size: whether the step size is a number, given or to be chosen.
        gradient: the gradient estimator, or None.
        temperature: T.
        minibatch: the minibatch scheme.
        preconditioner: the preconditioner, or None.
        noise_correction: "diagonal", "dense", False for none, or None.
        num_steps: transitions in one MCMC iteration.
        init_strategy: NumPyro's.
    """

    dynamics: AbstractDynamics
    step_size: Callable[[Any], Any] | None
    has_constant_step_size: bool
    gradient: AbstractGradient | None
    temperature: float
    minibatch: AbstractMinibatch
    preconditioner: AbstractPreconditioner | None
    noise_correction: str | bool | None
    num_steps: int
    init_strategy: Callable

    @property
    def anchor(self) -> dict[str, Any] | None:
        """The user's anchor: unconstrained values by site name, or None."""
        return None if self.gradient is None else self.gradient.anchor

    def with_gradient(self, gradient: AbstractGradient) -> "Options":
        """Return the options with a gradient estimator that was chosen before."""
        return self if self.gradient is not None else replace(self, gradient=gradient)


def candidate_gradients(options: Options, structure: Structure) -> tuple[AbstractGradient, ...]:
    """Return the gradient estimators to choose from, the preferred one first.

    Raises:
        ValueError: where a control variate is wanted for a random density.
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
            " that draws random numbers (`numpyro.prng_key`), one draw of which its full gradient"
            " would freeze. Use gradient=Plain()."
        )
    return (gradient,)


def without_anchor(gradient: AbstractGradient) -> AbstractGradient:
    """Return an estimator that holds no array: its anchor is part of the walker's state."""
    if gradient.anchor is None:
        return gradient
    assert is_dataclass(gradient)
    return replace(gradient, anchor=None)
