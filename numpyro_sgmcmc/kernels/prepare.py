"""One-time preparation of a kernel for a model and its data."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.adaptation import (
    Adaptation,
    Mode,
    Target,
    Tuned,
    candidate_gradients,
    curvatures,
    describe,
    find_mode,
    laplace_preconditioner,
    suggested_friction,
    tune,
)
from numpyro_sgmcmc.dynamics import AbstractDynamics
from numpyro_sgmcmc.gradient import AbstractGradient, Anchor, Plain
from numpyro_sgmcmc.kernels.start import check_params, flatten_params
from numpyro_sgmcmc.kernels.warn import warn_about_mixing, warn_about_mode
from numpyro_sgmcmc.preconditioner import (
    AbstractLinearMap,
    AbstractPreconditioner,
    Identity,
    check_preconditioner,
)


class Choices(NamedTuple):
    """What a user chose of a kernel; None leaves it open."""

    dynamics: AbstractDynamics
    gradient: AbstractGradient | None
    step_size: Callable[[Any], Any] | None
    preconditioner: AbstractPreconditioner | None
    temperature: float


class Prepared(NamedTuple):
    """What a run starts from."""

    gradient: AbstractGradient
    anchor: Anchor | None
    tuned: Tuned
    mode: Mode | None
    spread: AbstractLinearMap | None
    adaptation: Adaptation | None


def prepare(
    target: Target,
    key: jax.Array,
    draw: Callable[[jax.Array], jax.Array],
    choices: Choices,
    iterations: float,
) -> Prepared:
    """Find the anchor and choose the numbers that the user left open.

    Args:
        target: the model bound to its data.
        key: key of the search and of the measurements.
        draw: from a key to a flat position at which a search of the mode begins.
        choices: what the user chose.
        iterations: transitions a run can spend on one independent draw before a warning is due.

    Raises:
        ValueError: where a fixed point is asked for a random density, or no finite point is found.
    """
    structure = target.structure
    key_start, key_mode, key_tune = jax.random.split(key, 3)
    gradients = _gradients(choices, structure)
    if structure.dimension == 0:
        return _nothing_to_sample(choices)
    needs_tuning = choices.step_size is None
    needs_anchor = any(gradient.needs_anchor for gradient in gradients)
    if choices.preconditioner is not None:
        check_preconditioner(choices.preconditioner, structure.dimension)
    mode = None
    if needs_tuning or needs_anchor:
        mode = _mode(target, key_mode, lambda: draw(key_start), choices)
    if not needs_tuning:
        preconditioner = choices.preconditioner or Identity()
        friction = _friction(target, key_tune, lambda: draw(key_start), choices, preconditioner)
        (gradient,) = gradients
        tuned = Tuned(None, friction, preconditioner)
        return Prepared(gradient, _anchor(mode), tuned, mode, None, None)
    assert mode is not None
    preconditioner = choices.preconditioner or laplace_preconditioner(mode)
    assert isinstance(preconditioner, AbstractLinearMap)
    adaptation = tune(
        target, key_tune, choices.dynamics, gradients, preconditioner, mode, choices.temperature
    )
    warn_about_mixing(adaptation, structure, iterations)
    tuned = Tuned(adaptation.step_size, adaptation.friction, preconditioner)
    spread = laplace_preconditioner(mode)
    return Prepared(adaptation.gradient, _anchor(mode), tuned, mode, spread, adaptation)


def _nothing_to_sample(choices: Choices) -> Prepared:
    # NumPyro runs models without latent sites and returns no sites: any numbers do.
    step_size = jnp.ones(()) if choices.step_size is None else None
    friction = jnp.ones(()) if getattr(choices.dynamics, "friction", 0.0) is None else None
    gradient = Plain()
    tuned = Tuned(step_size, friction, Identity())
    return Prepared(gradient, None, tuned, None, None, None)


def _gradients(choices: Choices, structure: Any) -> tuple[AbstractGradient, ...]:
    gradient = choices.gradient
    anchor = getattr(gradient, "anchor", None)
    if anchor is not None:
        check_params(structure, anchor, "anchor")
    if not structure.plates and (gradient is None or gradient.is_control_variate):
        # Without a subsampled plate every estimator is the exact gradient.
        return (Plain(),)
    if gradient is None:
        open_choice = choices.step_size is None and not structure.is_random
        return candidate_gradients() if open_choice else (Plain(),)
    if gradient.is_control_variate and structure.is_random:
        raise ValueError(
            f"Expected a model with a deterministic density for {type(gradient).__name__}; got one"
            " that draws random numbers (`numpyro.prng_key`), one draw of which its full gradient"
            " would freeze. Use gradient=Plain()."
        )
    return (gradient,)


def _anchor(mode: Mode | None) -> Anchor | None:
    return None if mode is None else Anchor(*mode[:3])


def _mode(target: Target, key: jax.Array, start: Callable[[], jax.Array], choices: Choices) -> Mode:
    given = getattr(choices.gradient, "anchor", None)
    if given is not None:
        position = flatten_params(target.structure, given, "anchor")
        mode = describe(target, position)
    else:
        mode = find_mode(target, key, start())
    warn_about_mode(target.structure, mode, given is not None)
    return mode


def _friction(
    target: Target,
    key: jax.Array,
    start: Callable[[], jax.Array],
    choices: Choices,
    preconditioner: AbstractPreconditioner,
) -> jax.Array | None:
    friction = getattr(choices.dynamics, "friction", 0.0)
    if friction is not None or choices.step_size is None:
        return None
    assert isinstance(preconditioner, AbstractLinearMap)
    position = start()
    largest, mean = target.run(curvatures, preconditioner, position, key)
    suggestion = suggested_friction(largest, mean, position.size)
    # exp(-D h) stays above 1/e: more friction than that only slows the walk down.
    return jnp.minimum(suggestion, 1.0 / choices.step_size(0)).astype(position.dtype)
