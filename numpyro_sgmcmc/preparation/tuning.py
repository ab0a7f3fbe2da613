"""Choice of the settings that the user left open: gradient, friction, correction, step size."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax.core import Tracer

from numpyro_sgmcmc.correction import AbstractCorrection, CoupledCorrection
from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.gradient import AbstractGradient, Anchor
from numpyro_sgmcmc.preconditioner import AbstractLinearMap, Coupled, Dense
from numpyro_sgmcmc.preparation.epochs import fastest, in_epochs, may_use_epochs
from numpyro_sgmcmc.preparation.kinks import typical_curvature
from numpyro_sgmcmc.preparation.limits import Limits, choose, limits_of
from numpyro_sgmcmc.preparation.noise import Noise, measured_noise, silence
from numpyro_sgmcmc.preparation.noisy_directions import (
    has_row_noise,
    largest_deficit,
    largest_excess,
    with_noisy_directions,
)
from numpyro_sgmcmc.preparation.options import Options
from numpyro_sgmcmc.preparation.prepared import Adaptation
from numpyro_sgmcmc.preparation.slowing import allowed, share_of_all, slowed, slowest
from numpyro_sgmcmc.preparation.spectrum import predicting_instead
from numpyro_sgmcmc.preparation.target import Target
from numpyro_sgmcmc.preparation.thresholds import (
    CORRECTED_SHARE,
    DENSE_NOISE,
    EVEN_SHARE,
    LEAST_GAIN,
    TOLERANCE,
)
from numpyro_sgmcmc.preparation.unevenness import correctable_share

TINY = 1e-30


def choose_numbers(
    target: Target,
    key: jax.Array,
    options: Options,
    gradients: Sequence[AbstractGradient],
    preconditioner: AbstractLinearMap,
    anchor: Anchor,
    points: jax.Array,
    smallest_curvature: jax.Array | None = None,
    caution: float = 1.0,
    differ: bool = False,
    stiffest: float = 0.0,
) -> tuple[Adaptation, AbstractLinearMap]:
    """Choose a gradient estimator, the friction, and the largest step size within tolerance.

    Directions in which gradient noise would limit the step size are slowed down, unless the user
    gave the preconditioner. The map that is returned includes this.

    Args:
        target: the model bound to its data.
        key: key of the measurements.
        options: the user's choices.
        gradients: estimators to choose from, the preferred one first.
        preconditioner: the map of the coordinates in which all is measured.
        anchor: the fixed point of estimators that need one.
        points: positions typical of the posterior, (points, d).
        smallest_curvature: in the preconditioner's coordinates; None if it is not known.
        caution: factor of the step size; below 1 if larger step sizes have diverged.
        differ: whether directions of large noise are known to differ over the posterior, so that
            they are not looked for.
        stiffest: a curvature that is known to be reached, although few points show it.
    """
    key_curvature, key_noise, key_uneven, key_rows, key_spectrum, key_deficit = random.keys_of(
        key, 6
    )
    temperature = options.temperature
    curvature = typical_curvature(target, preconditioner, points, key_curvature)
    curvature = curvature._replace(largest=jnp.maximum(curvature.largest, stiffest))
    gradient, noise = _least_noisy(
        target, key_noise, gradients, preconditioner, anchor, points, curvature.largest
    )
    inputs = options.dynamics, curvature
    limits = limits_of(*inputs, noise.largest, points.shape[1], temperature)
    held_back = (options, target, gradient)
    if _may_exceed(*held_back, preconditioner, limits, noise):
        given = gradient, preconditioner, anchor, points
        noise = _with_deficit(target, key_deficit, *given, noise)
    unextended, added, is_elusive = (preconditioner, limits), None, False
    if _is_held_back(*held_back, preconditioner, limits, noise):
        added = 0
        if not differ:
            measured = gradient, anchor, points
            keys = key_noise, key_rows
            preconditioner, noise, added = _with_noisy_directions(
                target, keys, *measured, preconditioner, noise
            )
            limits = limits_of(*inputs, noise.largest, points.shape[1], temperature)
        is_elusive = added == 0 or _is_held_back(*held_back, preconditioner, limits, noise)
    quiet = uncorrected_share(curvature.variation)
    kind = _kind(options, noise, limits.share, quiet) if target.minibatch.is_independent else None
    if isinstance(preconditioner, Dense):
        # Noise is known in all directions, but on average over the posterior.
        is_elusive = _knows_rows(*held_back, preconditioner, limits)
    softest = curvature.mean if smallest_curvature is None else smallest_curvature
    can_slow = _can_slow(options, preconditioner, limits.share)
    bounds = temperature, quiet, caution, (softest, curvature.largest), can_slow
    linear, smooth = unextended
    given = gradients, linear, anchor, points, smooth, caution, softest
    predicting = target, key_spectrum, options
    for_predictions, scheme = None, None
    if is_elusive and kind is not None:
        # What may be corrected need not be measured where even the largest share would not do.
        most = jnp.maximum(quiet, CORRECTED_SHARE)
        alone = options, gradient, target.structure, limits, noise
        best = fastest(*alone, most, *bounds)
        cost = gradient.gradients_per_step * float(best.relaxation_steps)
        for_predictions = predicting_instead(*predicting, best, cost, given)
    if for_predictions is None:
        most = quiet
        if kind is not None and isinstance(limits.share, Tracer):
            most = jnp.asarray(EVEN_SHARE)  # How even the noise is cannot be known.
        elif kind is not None:
            loudest = _loudest(noise, limits.share, quiet) if can_slow else noise.largest
            inputs = gradient, preconditioner, anchor, points, noise.correction, loudest
            share = correctable_share(target, key_uneven, *inputs)
            if not can_slow:
                share = jnp.minimum(share, share_of_all(noise))
            most = jnp.maximum(quiet, share)
        chosen = choose(limits, noise, most, caution, softest, can_slow)
        if may_use_epochs(options, gradient, target.structure):
            (plate,) = target.structure.plates.values()
            epochs = in_epochs(plate, limits, noise, chosen, *bounds)
            if epochs is not None:
                kind, (scheme, chosen) = None, epochs
        if is_elusive:
            cost = gradient.gradients_per_step * float(chosen.relaxation_steps)
            for_predictions = predicting_instead(*predicting, chosen, cost, given)
    if for_predictions is not None:
        preconditioner, limits = unextended
        gradient, scheme, chosen = for_predictions
        noise = measured_noise(target, key_noise, gradient, preconditioner, anchor, points)
        asked = options.noise_correction
        kind, added = asked if isinstance(asked, str) else None, 0
    known, loudest = noise.correction, noise.largest
    if can_slow and for_predictions is None:
        loudest = chosen.largest_noise * noise.largest
        unit_share = chosen.share / loudest if kind is not None else 0.0
        most = allowed(noise, loudest, unit_share)
        slower = slowest(known, most) / chosen.largest_noise
        if float(slower * chosen.largest_noise) < 1:
            preconditioner, known = slowed(preconditioner, known, most)
            relaxation = chosen.relaxation_steps / jnp.minimum(slower, 1.0)
            left = jnp.minimum(loudest, jnp.maximum(known.largest, noise.residual))
            share = chosen.share * left / loudest
            chosen = chosen._replace(relaxation_steps=relaxation, share=share)
            loudest = left
    noise = noise._replace(largest=loudest, correction=known)
    adaptation = Adaptation(
        gradient=gradient,
        step_size=chosen.step_size.astype(points.dtype),
        friction=limits.dynamics.friction,
        curvature=curvature.largest,
        smallest_curvature=smallest_curvature,
        noise=noise.largest,
        share=chosen.share,
        correction=None if kind is None else as_correction(kind, noise, temperature),
        relaxation_steps=chosen.relaxation_steps,
        batch_factor=chosen.batch_factor,
        plates=target.structure.plates,
        scheme=scheme,
        noisy_directions=added,
        is_for_predictions=for_predictions is not None,
    )
    return adaptation, preconditioner


def _can_slow(options: Options, linear: AbstractLinearMap, share: jax.Array) -> bool:
    """Return whether noisy directions may be slowed down: not in a map that the user gave."""
    if options.preconditioner is not None or isinstance(share, Tracer):
        return False
    return isinstance(linear, Dense | Coupled) and float(share) > 0


def _loudest(noise: Noise, share: jax.Array, quiet: jax.Array) -> jax.Array:
    """Return a variance of noise down to which no direction will be slowed down.

    `choose` lets a direction of typical noise have the whole share. Where most directions have no
    noise at all, the step size is that of the curvature, with `share` in the loudest direction, and
    no direction is slowed down to less than `quiet`.
    """
    floor = noise.largest * jnp.minimum(quiet / jnp.maximum(share, TINY), 1.0)
    return jnp.where(noise.typical > 0, noise.typical, floor)


def _knows_rows(
    options: Options,
    target: Target,
    gradient: AbstractGradient,
    linear: AbstractLinearMap,
    limits: Limits,
) -> bool:
    """Return whether the noise is that of rows, and its directions may be slowed down."""
    return _can_slow(options, linear, limits.share) and has_row_noise(target, gradient)


def _is_held_back(
    options: Options,
    target: Target,
    gradient: AbstractGradient,
    linear: AbstractLinearMap,
    limits: Limits,
    noise: Noise,
) -> bool:
    """Return whether noise of unknown direction alone makes the step size small."""
    if not isinstance(linear, Coupled):
        return False
    if not _knows_rows(options, target, gradient, linear, limits):
        return False
    unit = float(limits.unit_heat) / float(noise.largest)
    typical = CORRECTED_SHARE / max(unit * float(noise.typical), TINY)
    unknown = TOLERANCE / 2 / max(unit * float(noise.residual), TINY)
    return unknown * LEAST_GAIN < min(float(limits.smooth), typical)


def _may_exceed(
    options: Options,
    target: Target,
    gradient: AbstractGradient,
    linear: AbstractLinearMap,
    limits: Limits,
    noise: Noise,
) -> bool:
    """Return whether a correction may take out more noise than there is, beyond the tolerance."""
    if options.noise_correction is False or not isinstance(linear, Coupled):
        return False
    if not _knows_rows(options, target, gradient, linear, limits):
        return False
    typical = float(limits.share) * float(noise.typical) / float(noise.largest)
    return typical > TOLERANCE / 2


def _with_deficit(
    target: Target,
    key: jax.Array,
    gradient: AbstractGradient,
    linear: AbstractLinearMap,
    anchor: Anchor,
    points: jax.Array,
    noise: Noise,
) -> Noise:
    """Return the noise, whose residual includes what the correction takes out beyond it."""
    deficit = largest_deficit(target, key, gradient, linear, anchor, points, noise.correction)
    return noise._replace(residual=jnp.maximum(noise.residual, deficit))


def _with_noisy_directions(
    target: Target,
    keys: tuple[jax.Array, jax.Array],
    gradient: AbstractGradient,
    anchor: Anchor,
    points: jax.Array,
    linear: AbstractLinearMap,
    noise: Noise,
) -> tuple[AbstractLinearMap, Noise, int]:
    """Return a map with the directions of largest noise, the noise, and their number.

    The noise is measured on the same minibatches with both maps, so that chance does not decide
    between them; the directions come from other rows.
    Where the noise of other positions has other directions, as that of a network does, the map is
    the given one and the number 0.
    """
    assert isinstance(linear, Coupled) and isinstance(noise.correction, CoupledCorrection)
    key_noise, key_rows = keys
    key_find, key_rest, key_deficit = random.keys_of(key_rows, 3)
    given = gradient, linear, anchor, points, noise.correction
    wider = with_noisy_directions(target, key_find, *given)
    found = measured_noise(target, key_noise, gradient, wider, anchor, points)
    given = gradient, wider, anchor, points, found.correction
    found = found._replace(residual=largest_excess(target, key_rest, *given))
    found = _with_deficit(target, key_deficit, *given[:-1], found)
    if float(found.residual) * LEAST_GAIN > float(noise.residual):
        return linear, noise, 0
    return wider, found, wider.subspace.size - linear.subspace.size


def as_correction(kind: str, noise: Noise, temperature: float) -> AbstractCorrection:
    """Return a correction of this kind for the measured noise.

    Args:
        kind: "diagonal", "dense", or "measured" for all that is known of the noise.
        noise: measured noise.
        temperature: T.

    Raises:
        ValueError: if a dense correction was not measured because the dimension is too high.
    """
    correction = noise.correction
    if kind == "diagonal":
        return correction.diagonal().at_temperature(temperature)
    if kind == "dense" and correction.dimension > DENSE_NOISE:
        raise ValueError(
            f"Expected at most {DENSE_NOISE} parameters with a dense noise correction;"
            f' got {correction.dimension}. Use noise_correction="diagonal".'
        )
    return correction.at_temperature(temperature)


# Compiled as a whole, because compiling each operation alone takes longer.
@jax.jit
def uncorrected_share(variation: jax.Array) -> jax.Array:
    """Return the largest share of heating that needs no correction.

    A share e changes a variance by e at most, which may be half of the tolerance. It can also move
    a mean. Effects that are wider by e than the scale of their hierarchy says pull that scale by
    the gradient of e tr H / 2, with H given the scale, so that means move by at most
    e sd(tr H) / 2 of their standard deviations, to leading order.

    Args:
        variation: sd(tr H), with H in the preconditioner's coordinates.
    """
    return TOLERANCE / 2 / jnp.maximum(variation / 2, 1.0)


def _kind(options: Options, noise: Noise, share: jax.Array, quiet: jax.Array) -> str | None:
    kind = options.noise_correction
    silent = not isinstance(share, Tracer) and float(noise.largest) == 0
    if kind is False or options.temperature == 0 or silent:
        return None
    if kind is None:
        needless = isinstance(share, Tracer) or float(share) <= float(quiet)
        return None if needless else "measured"
    assert isinstance(kind, str)
    return kind


def _least_noisy(
    target: Target,
    key: jax.Array,
    gradients: Sequence[AbstractGradient],
    preconditioner: AbstractLinearMap,
    anchor: Anchor,
    points: jax.Array,
    curvature: jax.Array,
) -> tuple[AbstractGradient, Noise]:
    if not target.structure.plates and not target.structure.is_random:
        return gradients[0], silence(curvature, points.shape[1])
    best: tuple[AbstractGradient, Noise] | None = None
    for gradient in gradients:
        # All estimators share the key, so that they are compared on the same minibatches.
        noise = measured_noise(target, key, gradient, preconditioner, anchor, points)
        # If the noise is below the curvature, it does not limit the step size, and this estimator
        # is chosen. It is also chosen while JAX is tracing (MCMC inside jit), when the noise is not
        # known.
        if isinstance(noise.largest, Tracer) or float(noise.largest) <= float(curvature):
            return gradient, noise
        if best is None or float(noise.largest) < float(best[1].largest):
            best = gradient, noise
    assert best is not None
    return best
