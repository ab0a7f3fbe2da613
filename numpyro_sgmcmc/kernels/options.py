"""Checks of a kernel's options: their types, and whether they can be combined."""

from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any

from jax.core import Tracer

from numpyro_sgmcmc.checks import check_callable, check_count, check_instance, check_number
from numpyro_sgmcmc.dynamics import AbstractDynamics
from numpyro_sgmcmc.gradient import AbstractGradient
from numpyro_sgmcmc.minibatch import AbstractMinibatch, UniformMinibatch
from numpyro_sgmcmc.preconditioner import AbstractPreconditioner
from numpyro_sgmcmc.preparation import Options


def checked_options(
    *,
    dynamics: Any,
    step_size: Any,
    gradient: Any,
    temperature: Any,
    minibatch: Any,
    preconditioner: Any,
    noise_correction: Any,
    increments: Any,
    num_steps: Any,
    max_num_steps: Any,
    init_strategy: Any,
    latent_move: Any,
    recentre: Any,
) -> Options:
    """Return a kernel's options.

    Raises:
        TypeError: if an option has the wrong type, or two options cannot be combined.
        ValueError: if a number is negative, zero or not finite, or two options exclude each other.
    """
    check_instance("dynamics", dynamics, AbstractDynamics, "Langevin()")
    if dynamics.friction is not None:
        check_number("friction", dynamics.friction)
    if gradient is not None:
        check_instance("gradient", gradient, AbstractGradient, "Plain() or FixedPoint()")
    schedule = as_schedule(step_size)
    temperature = _checked_temperature(temperature, dynamics)
    has_open_minibatch = minibatch is None
    minibatch = UniformMinibatch() if minibatch is None else minibatch
    check_instance("minibatch", minibatch, AbstractMinibatch, "UniformMinibatch(replace=False)")
    _check_table(gradient, minibatch)
    if preconditioner is not None:
        check_instance("preconditioner", preconditioner, AbstractPreconditioner, "Diagonal(scale)")
        _check_preconditioner(preconditioner, dynamics, step_size)
    _check_correction(noise_correction, preconditioner, minibatch, temperature)
    _check_increments(increments, preconditioner)
    return Options(
        dynamics=dynamics,
        step_size=schedule,
        has_constant_step_size=not callable(step_size),
        gradient=gradient,
        temperature=temperature,
        minibatch=minibatch,
        has_open_minibatch=has_open_minibatch,
        preconditioner=preconditioner,
        noise_correction=noise_correction,
        increments=increments,
        num_steps=fixed_steps(num_steps, schedule),
        max_num_steps=check_count("max_num_steps", max_num_steps),
        init_strategy=check_callable(
            "init_strategy", init_strategy, "a NumPyro init strategy such as init_to_median"
        ),
        latent_move=_checked_move(latent_move),
        recentre=check_instance("recentre", recentre, bool, "True or False"),
    )


def _checked_temperature(temperature: Any, dynamics: AbstractDynamics) -> float:
    """Return the temperature, which may be 0 where the dynamics can optimise."""
    value = check_number("temperature", temperature, allow_zero=True)
    if value == 0 and not dynamics.can_optimise:
        raise ValueError(
            f"Expected a positive temperature with {type(dynamics).__name__}, whose momentum keeps"
            " its length; got 0. Use SGHMCSplit(model, step_size, temperature=0) to optimise."
        )
    return value


def fixed_steps(num_steps: Any, schedule: Callable[[Any], Any] | None) -> int | None:
    """Return the number of transitions in an iteration; None if the warm-up is to choose it.

    Without a given number it is 1 if the step size is given, because the warm-up measures nothing
    then.
    """
    if num_steps is not None:
        return check_count("num_steps", num_steps)
    return None if schedule is None else 1


def as_schedule(step_size: Any) -> Callable[[Any], Any] | None:
    """Return the step size as a function of the transition count; None stays None."""
    if step_size is None:
        return None
    if callable(step_size):
        check_number("step_size(0)", step_size(0))
        return step_size
    if isinstance(step_size, Tracer):  # Its value is not known yet.
        return partial(_constant, step_size)
    value = check_number(
        "step_size", step_size, remedy="It is of the order of 1 / N; None lets the warm-up choose."
    )
    return partial(_constant, value)


def _check_table(gradient: AbstractGradient | None, minibatch: AbstractMinibatch) -> None:
    """Raise an error for epochs with a gradient estimator that they make biased."""
    if gradient is None or minibatch.is_independent or not gradient.needs_independent_minibatches:
        return
    name = type(gradient).__name__
    raise TypeError(
        f"Expected independent minibatches with {name}; got {type(minibatch).__name__}. In an epoch"
        " the rows that come next are those whose gradients in the table are the oldest, which"
        " makes the estimate biased. Use UniformMinibatch(replace=False), or SVRG() with epochs."
    )


def _check_preconditioner(
    preconditioner: AbstractPreconditioner, dynamics: AbstractDynamics, step_size: Any
) -> None:
    """Raise an error if a varying preconditioner is combined with dynamics it does not support."""
    if preconditioner.is_constant:
        return
    name = type(preconditioner).__name__
    if dynamics.has_momentum:
        raise TypeError(
            f"Expected Langevin dynamics with {name}, which does not support others; got"
            f" {type(dynamics).__name__}. Use SGLD(model, step_size, preconditioner=...)."
        )
    if step_size is None:
        raise ValueError(
            f"Expected a `step_size` with {name}; got None. The warm-up chooses a step size only"
            " for a constant preconditioner. Pass `step_size`."
        )


def _check_correction(
    kind: Any,
    preconditioner: AbstractPreconditioner | None,
    minibatch: AbstractMinibatch,
    temperature: float,
) -> None:
    """Raise an error for an unknown noise correction, or one that other options exclude."""
    if not (kind is None or kind is False or kind in ("diagonal", "dense")):
        raise ValueError(
            f'Expected `noise_correction` to be "diagonal", "dense", False or None; got {kind!r}.'
        )
    if not kind:
        return
    if preconditioner is not None and not preconditioner.is_constant:
        raise TypeError(
            "Expected a constant preconditioner with a noise correction; got"
            f" {type(preconditioner).__name__}, whose coordinates change during a run. Use"
            " Diagonal(scale) or Dense(factor), or no noise correction."
        )
    if not minibatch.is_independent:
        raise TypeError(
            "Expected independent minibatches with a noise correction; got"
            f" {type(minibatch).__name__}, whose noise cancels within an epoch. Use"
            " UniformMinibatch(), or no noise correction."
        )
    if temperature == 0:
        raise ValueError(
            "Expected a positive temperature with a noise correction; got 0. Leave"
            " `noise_correction` out."
        )


def _check_increments(kind: Any, preconditioner: AbstractPreconditioner | None) -> None:
    """Raise an error for an unknown kind of increments, or one that other options exclude."""
    if not (kind is None or kind in ("normal", "binomial")):
        raise ValueError(f'Expected `increments` to be "normal", "binomial" or None; got {kind!r}.')
    if kind == "binomial" and preconditioner is not None and not preconditioner.is_constant:
        raise TypeError(
            'Expected a constant preconditioner with increments="binomial"; got'
            f" {type(preconditioner).__name__}, which uses the signs of the increments: a fifth of"
            " binomial ones are zero. Leave `increments` out."
        )


def _checked_move(move: Any) -> Callable | str | None:
    """Return the move of discrete latents of rows.

    Raises:
        TypeError: if it is neither "gibbs" nor a function of a key, sites and rows.
    """
    if move is None or (isinstance(move, str) and move == "gibbs"):
        return move
    names = ("rng_key", "gibbs_sites", "hmc_sites", "rows")
    wanted = f'"gibbs" or a function `move({", ".join(names)})`'
    function: Callable = check_callable("latent_move", move, wanted)
    try:
        signature(function).bind(**dict.fromkeys(names))
    except TypeError as error:
        raise TypeError(
            f"Expected `latent_move` to be {wanted}; got {move!r}: {error}. Name its parameters as"
            " for NumPyro's `HMCGibbs`, and add `rows`, the numbers of the rows to move."
        ) from error
    return move


def _constant(value: Any, count: Any) -> Any:
    return value
