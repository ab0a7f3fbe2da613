"""One-time preparation of a kernel for a model and its data."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.core import Tracer

from numpyro_sgmcmc.cpu import threefry
from numpyro_sgmcmc.dynamics import AbstractDynamics
from numpyro_sgmcmc.gradient import AbstractGradient, Anchor, Plain
from numpyro_sgmcmc.kernels.start import check_params, flatten_params
from numpyro_sgmcmc.kernels.warn import check_finite, warn_about_mixing, warn_about_mode
from numpyro_sgmcmc.preconditioner import (
    AbstractLinearMap,
    AbstractPreconditioner,
    Identity,
    check_preconditioner,
)
from numpyro_sgmcmc.preparation import (
    DENSE_DIMENSION,
    POINTS,
    Adaptation,
    Approximation,
    Mode,
    Target,
    Tuned,
    Wishes,
    anchor_at,
    as_correction,
    candidate_gradients,
    compile_ahead,
    curvatures,
    describe,
    find_mode,
    is_dense,
    is_sound,
    is_traced,
    laplace,
    laplace_at,
    mean_field,
    measured_noise,
    suggested_friction,
    warm_up,
)


class Choices(NamedTuple):
    """What a user chose of a kernel; None leaves it open."""

    dynamics: AbstractDynamics
    gradient: AbstractGradient | None
    step_size: Callable[[Any], Any] | None
    preconditioner: AbstractPreconditioner | None
    temperature: float
    noise_correction: str | bool | None


class Prepared(NamedTuple):
    """What a run starts from; `believed` is None where chains start as the strategy says."""

    gradient: AbstractGradient
    anchor: Anchor | None
    tuned: Tuned
    believed: Approximation | None
    adaptation: Adaptation | None


def prepare(
    target: Target,
    key: jax.Array,
    draw: Callable[[jax.Array], jax.Array],
    choices: Choices,
    transitions: int,
    iterations: float,
    foresee: Callable[[AbstractGradient, Any, Any, Any], None],
) -> Prepared:
    """Find the anchor and choose the numbers that the user left open.

    Args:
        target: the model bound to its data.
        key: key of the search and of the measurements.
        draw: from a key to a flat position at which a search of the mode begins.
        choices: what the user chose.
        transitions: length of the warm-up's windows, where numbers are left open.
        iterations: transitions a run can spend on one independent draw before a warning is due.
        foresee: is called with the gradient and the shapes of anchor, tuned numbers and
            approximation that are to be expected, before any work is done.

    Raises:
        ValueError: where a fixed point is asked for a random density, no finite point is found, or
            a dense noise correction in high dimension.
    """
    structure = target.structure
    key_start, key_mode, key_tune = threefry.keys_of(key, 3)
    gradients = _gradients(choices, structure)
    if structure.dimension == 0:
        return _nothing_to_sample(choices)
    if choices.preconditioner is not None:
        check_preconditioner(choices.preconditioner, structure.dimension)
    start = lambda: draw(key_start)  # noqa: E731
    if choices.step_size is not None:
        return _given(target, key_mode, key_tune, start, choices, gradients[0])
    linear = choices.preconditioner
    assert linear is None or isinstance(linear, AbstractLinearMap)
    given = getattr(choices.gradient, "anchor", None)
    wishes = Wishes(choices.dynamics, gradients, choices.noise_correction, choices.temperature)
    traced = is_traced((target.args, target.kwargs))
    if given is None and structure.dimension <= DENSE_DIMENSION and not traced:
        compile_ahead(target, wishes, linear, transitions, partial(foresee, gradients[0]))
    believed, anchor = _rough(target, key_mode, start, given)
    warmed = warm_up(
        target,
        key_tune,
        wishes,
        believed,
        anchor,
        transitions,
        preconditioner=linear,
        keeps_anchor=given is not None,
    )
    adaptation = warmed.adaptation
    warn_about_mixing(adaptation, structure, iterations)
    tuned = Tuned(
        adaptation.step_size, adaptation.friction, warmed.preconditioner, adaptation.correction
    )
    return Prepared(adaptation.gradient, warmed.anchor, tuned, warmed.believed, adaptation)


def _given(
    target: Target,
    key_mode: jax.Array,
    key_tune: jax.Array,
    start: Callable[[], jax.Array],
    choices: Choices,
    gradient: AbstractGradient,
) -> Prepared:
    """Return what a kernel with the user's step size needs besides it."""
    preconditioner = choices.preconditioner or Identity()
    key_points, key_noise, key_friction = threefry.keys_of(key_tune, 3)
    kind, anchor, believed, correction = choices.noise_correction, None, None, None
    if gradient.needs_anchor or kind:
        mode = _mode(target, key_mode, start, getattr(choices.gradient, "anchor", None))
        anchor = _anchor(mode)
        believed = Approximation(mode.position, None)
        if kind:
            assert isinstance(preconditioner, AbstractLinearMap)
            assert isinstance(kind, str)
            points = laplace(mode).draw(key_points, POINTS, choices.temperature)
            noise = measured_noise(target, key_noise, gradient, preconditioner, anchor, points)
            correction = as_correction(kind, noise, choices.temperature)
    friction = _friction(target, key_friction, start, choices, preconditioner)
    tuned = Tuned(None, friction, preconditioner, correction)
    return Prepared(gradient, anchor, tuned, believed, None)


def _rough(
    target: Target, key: jax.Array, start: Callable[[], jax.Array], given: Any
) -> tuple[Approximation, Anchor]:
    """Return a Gaussian to begin with, and an anchor: at a mode, or where that is none, a fit."""
    key_mode, key_check, key_fit = threefry.keys_of(key, 3)
    if given is not None:
        mode = _mode(target, key_mode, start, given)
        return target.run(laplace_at, mode, brief=True), _anchor(mode)
    position = start()
    if isinstance(position, Tracer) or is_dense(position):
        mode = find_mode(target, key_mode, position)
        if is_sound(target, mode, key_check):
            warn_about_mode(target.structure, mode, given=False)
            return target.run(laplace_at, mode, brief=True), _anchor(mode)
    believed = mean_field(target, key_fit, position)
    anchor = anchor_at(target, believed.centre)
    check_finite(anchor)
    return believed, anchor


def _nothing_to_sample(choices: Choices) -> Prepared:
    # NumPyro runs models without latent sites and returns no sites: any numbers do.
    step_size = jnp.ones(()) if choices.step_size is None else None
    friction = jnp.ones(()) if getattr(choices.dynamics, "friction", 0.0) is None else None
    gradient = Plain()
    tuned = Tuned(step_size, friction, Identity())
    return Prepared(gradient, None, tuned, None, None)


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


def _anchor(mode: Mode) -> Anchor:
    return Anchor(*mode[:3])


def _mode(target: Target, key: jax.Array, start: Callable[[], jax.Array], given: Any) -> Mode:
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
    found = target.run(curvatures, preconditioner, position, key, brief=True)
    suggestion = suggested_friction(found.largest, found.mean, position.size)
    # exp(-D h) stays above 1/e: more friction than that only slows the walk down.
    return jnp.minimum(suggestion, 1.0 / choices.step_size(0)).astype(position.dtype)
