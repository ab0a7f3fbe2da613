"""Options of a kernel: what fits together, and step sizes as functions."""

from collections.abc import Callable
from functools import partial
from typing import Any

from numpyro_sgmcmc.checks import check_number
from numpyro_sgmcmc.dynamics import Langevin
from numpyro_sgmcmc.minibatch import AbstractMinibatch
from numpyro_sgmcmc.preconditioner import AbstractPreconditioner


def check_fits(preconditioner: AbstractPreconditioner, dynamics: Any, step_size: Any) -> None:
    """Refuse a preconditioner that follows the walker where its drift would be wrong."""
    name = type(preconditioner).__name__
    if not preconditioner.is_constant and not isinstance(dynamics, Langevin):
        raise TypeError(
            f"Expected Langevin dynamics with {name}, whose drift is theirs; got"
            f" {type(dynamics).__name__}. Use SGLD(model, step_size, preconditioner=...)."
        )
    if not preconditioner.is_constant and step_size is None:
        raise ValueError(
            f"Expected a `step_size` with {name}; got None, which chooses one for a constant"
            " preconditioner."
        )


def check_correction(
    kind: Any, preconditioner: Any, minibatch: AbstractMinibatch, temperature: float
) -> None:
    """Refuse a noise correction that is none, or that would take out what is not there."""
    if not (kind is None or kind is False or kind in ("diagonal", "dense")):
        raise ValueError(
            f'Expected `noise_correction` to be "diagonal", "dense", False or None; got {kind!r}.'
        )
    if not kind:
        return
    if preconditioner is not None and not preconditioner.is_constant:
        raise TypeError(
            "Expected a constant preconditioner with a noise correction; got"
            f" {type(preconditioner).__name__}, in whose coordinates the noise keeps changing."
        )
    if not minibatch.is_independent:
        raise TypeError(
            "Expected independent minibatches with a noise correction; got"
            f" {type(minibatch).__name__}, whose noise cancels within an epoch. Use"
            " UniformMinibatch(), or no noise correction."
        )
    if temperature == 0:
        raise ValueError("Expected a positive temperature with a noise correction; got 0.")


def as_schedule(step_size: Any) -> Callable[[Any], Any] | None:
    """Return the step size as a function of the transition count; None stays None."""
    if step_size is None:
        return None
    if callable(step_size):
        check_number("step_size(0)", step_size(0))
        return step_size
    value = check_number(
        "step_size", step_size, remedy="It is of the order of 1 / N; None chooses it."
    )
    return partial(_constant, value)


def tuned_or(schedule: Callable[[Any], Any] | None, tuned: Any) -> Callable[[Any], Any]:
    """Return the step size that was chosen, a number, as a function; else the user's."""
    if tuned is not None:
        return lambda count: tuned
    assert schedule is not None
    return schedule


def _constant(value: float, count: Any) -> float:
    return value
