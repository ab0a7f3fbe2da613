"""Construction of a `Stepper` from a kernel's options, a model's arguments and tuned settings."""

from collections.abc import Callable
from typing import Any

from numpyro_sgmcmc.cpu.slices import by_slices
from numpyro_sgmcmc.kernels.constants import warn_about_constants
from numpyro_sgmcmc.model import Structure, stochastic_potential
from numpyro_sgmcmc.preparation import Options
from numpyro_sgmcmc.staleness import CurvatureRemedy, FrictionRemedy, StaleEstimate
from numpyro_sgmcmc.state import Tuned
from numpyro_sgmcmc.stepper import Stepper
from numpyro_sgmcmc.transition import Transition


def stepper_of(
    options: Options, structure: Structure, args: tuple, kwargs: dict, tuned: Tuned
) -> Stepper:
    """Return the stepper of one chain's transitions."""
    warn_about_constants(args, kwargs)
    dynamics, gradient = options.dynamics.with_friction(tuned.friction), tuned.gradient
    delay = None
    if options.staleness is not None:
        delay, remedy = options.staleness.delay, tuned.remedy
        gradient = StaleEstimate(gradient, remedy if isinstance(remedy, CurvatureRemedy) else None)
        if isinstance(remedy, FrictionRemedy):
            dynamics = remedy.damped(dynamics)
    potential, scheme = stochastic_potential(structure, args, kwargs), options.scheme(tuned)
    is_sliced = scheme.is_contiguous and structure.local is None
    return Stepper(
        potential=by_slices(potential) if is_sliced else potential,
        transition=Transition(dynamics, gradient, tuned.preconditioner, tuned.correction),
        scheme=scheme,
        plates=structure.plates,
        is_random=structure.needs_key,
        temperature=options.temperature,
        step_size=_step_size(options, tuned),
        delay=delay,
        increments=options.increments,
    )


def _step_size(options: Options, tuned: Tuned) -> Callable[[Any], Any]:
    """Return the step size as a function of the transition count."""
    if tuned.step_size is not None:
        return lambda count: tuned.step_size
    assert options.step_size is not None
    return options.step_size
