"""Warnings at the start of a run, each with a remedy."""

from math import sqrt

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from numpyro_sgmcmc.checks import warn_user
from numpyro_sgmcmc.gradient import Anchor
from numpyro_sgmcmc.model import Structure
from numpyro_sgmcmc.preparation.advice import (
    duration,
    larger_minibatches,
    other_methods,
    passes_of,
)
from numpyro_sgmcmc.preparation.axes import principal_axes
from numpyro_sgmcmc.preparation.mode import Mode
from numpyro_sgmcmc.preparation.options import Options
from numpyro_sgmcmc.preparation.pace import Need, wanted_steps
from numpyro_sgmcmc.preparation.prepared import Adaptation
from numpyro_sgmcmc.preparation.start_thresholds import SEARCHES
from numpyro_sgmcmc.preparation.thresholds import ADVISED_FROM
from numpyro_sgmcmc.state import OtherModes


def warn_about_dropped_sites(structure: Structure) -> None:
    """Warn if deterministic sites depend on the minibatch, or are too costly for each draw."""
    if structure.costly_sites:
        names = ", ".join(map(repr, sorted(structure.costly_sites)))
        warn_user(
            f"Deterministic site(s) {names} take a pass over the data at each draw and are left out"
            " of the draws. For their values run `numpyro.infer.Predictive(model, draws,"
            f" return_sites=[{names}])` afterwards, on as many draws as you need."
        )
    if structure.minibatch_sites:
        names = ", ".join(map(repr, sorted(structure.minibatch_sites)))
        warn_user(
            f"Deterministic site(s) {names} depend on the minibatch (or on random numbers,"
            " discrete latent sites or latents of rows) and are left out of the draws. For their"
            " values on all rows run `numpyro.infer.Predictive(model, mcmc.get_samples())` on the"
            " model without `subsample_size`."
        )


def warn_about_mode(structure: Structure, mode: Mode, given: bool) -> None:
    """Warn if an anchor is not a mode: its curvature is not positive, or its gradient is not small.

    Raises:
        ValueError: if the potential or its gradient is not finite at the anchor.
    """
    if isinstance(mode.position, Tracer):
        return
    what = "the given anchor" if given else "the point that the search for a mode ended at"
    check_finite(mode, what)
    if not mode.is_dense:
        return
    axes = principal_axes(mode.hessian)
    smallest = float(axes.curvatures[0])
    if smallest < -float(axes.floor):
        sites = structure.by_site(jnp.abs(axes.vectors[:, 0]))
        worst = max(sites, key=lambda name: float(jnp.max(sites[name], initial=0.0)))
        warn_user(
            f"The curvature at {what} is not positive (smallest eigenvalue of the Hessian"
            f" {smallest:.3g} in units of its diagonal, mostly along site {worst!r}). No mode is"
            " there, and control variates centred there may be noisy. Reparametrise that site (for"
            " example non-centred), pass `anchor=` values of another fit, or use gradient=Plain()."
        )
    distance = float(mode.distance)
    if distance > sqrt(mode.position.size):
        warn_user(
            f"The gradient does not vanish at {what}: the mode lies about {distance:.1f} posterior"
            f" standard deviations away, where {sqrt(mode.position.size):.1f} is typical of a draw."
            " The gradient estimate is unbiased but noisy. Standardise the data, pass `anchor=`"
            " values"
            " from another fit, or `init_params` nearer to the mode."
        )


def warn_about_other_modes(structure: Structure, found: OtherModes | None) -> None:
    """Warn if the posterior has modes at which no chain starts."""
    if found is None:
        return
    count, share = len(found.shares), 1 - float(jnp.sum(found.shares))
    away = structure.by_site(jnp.abs(found.positions[0] - found.centre))
    site = max(away, key=lambda name: float(jnp.max(away[name], initial=0.0)))
    several = "another mode" if count == 1 else f"{count} other modes"
    warn_user(
        f"The posterior has {several}: searches from {SEARCHES} starts found them, and Laplace"
        f" approximations give {1 - share:.2g} of the probability to them. All chains start in the"
        f" one that has {share:.2g}; the next differs most in site {site!r}. Chains may not move"
        " between modes. If modes differ by their labels or signs only, order or fix these in the"
        " model, or choose the labels with `init_strategy=init_to_value(...)`. Otherwise let"
        " hot replicas carry chains between modes, ReplicaExchange(kernel, [1, 2, 4, 8]), give each"
        " chain a start of its own with `init_params`, or sample each mode by itself."
    )


def check_finite(point: Mode | Anchor, what: str = "the centre of a mean-field fit") -> None:
    """Raise an error if U or its gradient is not finite at a point.

    Raises:
        ValueError: if it is not finite.
    """
    if isinstance(point.position, Tracer):
        return
    if not np.isfinite(point.potential_energy) or not np.all(np.isfinite(point.gradient)):
        raise ValueError(
            f"Expected a finite potential and gradient at {what}; got U ="
            f" {float(point.potential_energy)}. Pass `init_params` or an `init_strategy` near the"
            " posterior, or check the data for extreme values."
        )


def warn_about_mixing(
    adaptation: Adaptation, structure: Structure, options: Options, num_warmup: int
) -> None:
    """Warn if an independent draw takes too many transitions.

    Too many are more than `max_num_steps` transitions per draw are for. If the user gave the number
    of transitions per draw, too many are more than 50 draws have, and a tenth of the warm-up.
    """
    steps = adaptation.relaxation_steps
    if isinstance(steps, Tracer):
        return
    if options.num_steps is None:
        steps, more = adaptation.autocorrelation_time, "more steps (max_num_steps=...)"
        wanted = wanted_steps(Need(float(steps)))
        is_slow = options.temperature > 0 and wanted > options.max_num_steps
        per_draw = (
            f" ({options.max_num_steps:,} are taken for each draw, which is worth"
            f" {adaptation.worth:.2g} of an independent one)"
        )
    else:
        more, per_draw = "more steps (num_steps=...)", ""
        is_slow = float(steps) > options.num_steps * max(num_warmup / 10, 50)
    if not is_slow:
        return
    remedies = _remedies(adaptation, options)
    sizes = ", ".join(f"{p.subsample_size:,} of {p.size:,}" for p in structure.plates.values())
    batch = f" with minibatches of {sizes}" if sizes else ""
    slow = "" if adaptation.slowest_site is None else f" at {adaptation.slowest_site!r}"
    took = ""
    if adaptation.seconds_per_transition is not None:
        took = f", {duration(float(steps) * adaptation.seconds_per_transition)} with 8 walkers"
    of = "predictions' standard" if adaptation.is_for_predictions else "standard"
    warn_user(
        f"Step size {float(adaptation.step_size):.3g} keeps the error of {of} deviations near"
        f" 5 %{batch} (gradient noise {float(adaptation.noise):.3g}, curvature"
        f" {float(adaptation.curvature):.3g}, in whitened units), but needs about"
        f" {float(steps):,.0f} transitions{slow} for one independent draw{took}{per_draw}: this run"
        f" is likely too short to be trusted. Use {', '.join(remedies)}, or {more}."
        f"{other_methods(passes_of(float(steps), structure.plates))}"
    )


def _remedies(adaptation: Adaptation, options: Options) -> list[str]:
    """Return what would make draws cheaper."""
    factor = float(adaptation.batch_factor)
    if factor > ADVISED_FROM:
        batches = larger_minibatches(adaptation.plates, factor)
        # For predictions, all estimators were compared.
        is_known = adaptation.gradient.is_control_variate or adaptation.is_for_predictions
        return [batches] if is_known else ["gradient=FixedPoint()", batches]
    if options.preconditioner is not None:
        return ["preconditioner=None, which lets the warm-up choose"]
    if adaptation.slowest_site is None:
        return ["another parametrisation (for example centred instead of non-centred)"]
    site = repr(adaptation.slowest_site)
    return [f"another parametrisation of {site} (for example centred instead of non-centred)"]
