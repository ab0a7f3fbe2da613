"""Windows of the run's own transitions, which choose its settings."""

from time import perf_counter
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.gradient import AbstractGradient
from numpyro_sgmcmc.preconditioner import AbstractLinearMap
from numpyro_sgmcmc.preparation.autocorrelation import Slowest, slowest
from numpyro_sgmcmc.preparation.kinks import Typical
from numpyro_sgmcmc.preparation.latents.noise import Walkers
from numpyro_sgmcmc.preparation.latents.pooled import pooled
from numpyro_sgmcmc.preparation.latents.starts import starts_of
from numpyro_sgmcmc.preparation.latents.window import LatentWindow, Shown
from numpyro_sgmcmc.preparation.limits import Limits, choose, limits_of
from numpyro_sgmcmc.preparation.noise import Noise
from numpyro_sgmcmc.preparation.options import Options
from numpyro_sgmcmc.preparation.pace import need_of, pace_of, steps_of_draws
from numpyro_sgmcmc.preparation.prepared import Adaptation, Prepared
from numpyro_sgmcmc.preparation.request import Request
from numpyro_sgmcmc.preparation.target import Target, View
from numpyro_sgmcmc.preparation.thresholds import MOST_TRANSITIONS
from numpyro_sgmcmc.preparation.tuning import uncorrected_share
from numpyro_sgmcmc.preparation.warn import warn_about_mixing
from numpyro_sgmcmc.preparation.windows import Seen
from numpyro_sgmcmc.state import Tuned

FIRST_SWEEPS = 8
"""Length of the first window in sweeps over the rows."""

SHORTEST = 400
"""The shortest length of the first window in transitions."""

MOST_WINDOWS = 6
"""Windows, each twice as long as the one before, until the slowest coordinate is measured."""


class Given(NamedTuple):
    """What is known before a window.

    Attributes:
        gradient: the estimator.
        linear: the preconditioner.
        curvature: in its coordinates, given the latents.
        noise: of the gradient in its coordinates, as far as it is known.
        step_size: the step size at which the noise was measured; None if it was not.
    """

    gradient: AbstractGradient
    linear: AbstractLinearMap
    curvature: Typical
    noise: Noise
    step_size: jax.Array | None = None


class Choice(NamedTuple):
    """Settings, and the values of `Adaptation` that come with them."""

    tuned: Tuned
    step_size: jax.Array
    limits: Limits
    share: jax.Array
    relaxation_steps: jax.Array
    batch_factor: jax.Array


def chosen_by_windows(
    target: Target,
    key: jax.Array,
    options: Options,
    request: Request,
    given: Given,
    walkers: Walkers,
) -> Prepared:
    """Return the settings that the last window allows, and chains that start where it ends.

    Every window measures the gradient noise and what the slowest coordinate needs. Where some
    walkers get lost, nothing is learned from it: others take their places, with half of the step
    size. The memory of the walkers is used for those that follow.

    Raises:
        ValueError: if walkers leave the places where the density is finite.
    """
    limits = first_limits(target, options, given.curvature)
    chosen = chosen_from(options, given, given.noise, limits, 1.0, given.step_size)
    window, done = LatentWindow(limits.dynamics, options.temperature, options.increments), []
    seconds, caution, length = None, 1.0, _first_length(target)
    earlier: tuple[Seen, np.ndarray] | None = None
    while True:
        key, key_window = random.keys_of(key, 2)
        began = perf_counter()
        shown = window.run(target, key_window, chosen.tuned, walkers, length)
        jax.block_until_ready(shown)
        if done:  # The first window is compiled; times are told for 8 walkers.
            seconds = 8 / len(walkers.positions) * (perf_counter() - began) / length
        done.append(length)
        lost = np.asarray(shown.lost)
        if lost.any() and not lost.all() and len(done) < MOST_WINDOWS:
            walkers = target.run(_taken, shown.walkers, _sound(lost), donate=(0,), optimise=False)
            caution, earlier = caution / 2, None
            chosen = chosen_from(options, given, given.noise, limits, caution, given.step_size)
            continue
        walkers, seen, centre = shown.walkers, shown.seen, np.asarray(shown.centre, np.float64)
        if earlier is not None:
            seen = pooled(earlier[0], seen, centre - earlier[1])
        found = slowest(seen)
        before, former = chosen, chosen.step_size
        if float(shown.seen.diverging) > 0:
            caution, former = caution / 2, None
        chosen = chosen_from(options, given, shown.noise, limits, caution, former)
        change = float(chosen.step_size) / float(before.step_size)
        is_same = change > 0.9
        # In the first window walkers still leave their starts, which looks like a short time.
        is_known = len(done) > 1 and found is not None and found.is_known and is_same
        if is_known or len(done) == MOST_WINDOWS or 2 * length + sum(done) > MOST_TRANSITIONS:
            break
        earlier = (seen, centre) if len(done) > 1 and 0.9 < change < 1 / 0.9 else None
        length *= 2
    if not (np.isfinite(float(chosen.step_size)) and np.all(np.isfinite(shown.seen.last))):
        raise ValueError(
            "Expected walkers of a model with latents of rows that stay where the density is"
            f" finite; got ones that left it in {len(done)} windows of transitions. Pass"
            " `init_params` of the shared sites, or an `init_strategy`, near the posterior, or"
            " `step_size` and `num_steps`; check the data for extreme values."
        )
    settings = chosen, given.curvature, shown, found, 1 / change, len(done), seconds
    return _prepared(target, options, request, *settings)


def _sound(lost: np.ndarray) -> np.ndarray:
    """Return for each walker which one takes its place: itself if it is not lost."""
    others = np.flatnonzero(~lost)
    places = np.arange(len(lost))
    return np.where(lost, others[places % len(others)], places)


def _taken(view: View, walkers: Walkers, places: jax.Array) -> Walkers:
    return jax.tree.map(lambda each: each[places], walkers)


def first_limits(target: Target, options: Options, curvature: Typical) -> Limits:
    """Return what limits the step size where the gradient has no noise, and a friction."""
    nothing = jnp.zeros_like(curvature.largest)
    return limits_of(options.dynamics, curvature, nothing, target.structure.dimension, 1.0)


def chosen_from(
    options: Options,
    given: Given,
    noise: Noise,
    limits: Limits,
    caution: float,
    former: jax.Array | None,
) -> Choice:
    """Return the settings that curvature and noise allow.

    Noise at a table of gradients is that of the distance that z moves between two visits of a row.
    Its variance V grows with h: as h while z diffuses, as h^2 while z moves straight on, and faster
    where the noise itself moves z. If V was measured at h and allows h', and grows as h^p, then
    h (h' / h)^(1 / (1 + p)) is allowed. p is taken for 1 if h must decrease, and for 4 if it may
    increase: both lead to too small a step size where p is between the two, and closer to the right
    one after each window.

    Args:
        options: the user's.
        given: gradient, preconditioner and curvature.
        noise: the gradient noise.
        limits: for their dynamics.
        caution: factor of the step size.
        former: the step size at which the noise was measured; None to take what is allowed.
    """
    curvature, dimension = given.curvature, noise.correction.dimension
    limits = limits_of(limits.dynamics, curvature, noise.largest, dimension, 1.0)
    found = choose(limits, noise, uncorrected_share(curvature.variation), caution, 1.0, False)
    friction = limits.dynamics.friction if options.dynamics.needs_friction else None
    step_size = found.step_size.astype(noise.largest.dtype)
    factor = jnp.ones_like(step_size)
    if former is not None:
        factor = (former / step_size) ** jnp.where(step_size < former, 1 / 2, 4 / 5)
    step_size = factor * step_size
    return Choice(
        tuned=Tuned(step_size, friction, given.linear, given.gradient),
        step_size=step_size,
        limits=limits,
        share=found.share * factor,
        relaxation_steps=found.relaxation_steps / factor,
        batch_factor=found.batch_factor,
    )


def _prepared(
    target: Target,
    options: Options,
    request: Request,
    chosen: Choice,
    curvature: Typical,
    shown: Shown,
    found: Slowest | None,
    slower: float,
    windows: int,
    seconds: float | None,
) -> Prepared:
    """Return the settings with the number of transitions of a draw, and what was measured."""
    structure, tuned = target.structure, chosen.tuned._replace(centring=target.centring)
    need = need_of(chosen.relaxation_steps, found, slower, structure)
    if options.num_steps is None:
        num_steps, least = steps_of_draws(options, need, request.num_warmup, structure)
        pace = pace_of(num_steps, request.num_warmup, least)
        tuned, wait = tuned._replace(pace=pace), pace.before(pace.num_warmup)
    else:
        num_steps = jnp.asarray(options.num_steps, jnp.int32)
        wait = options.num_steps * request.num_warmup
    adaptation = Adaptation(
        gradient=tuned.gradient,
        step_size=chosen.step_size,
        friction=chosen.limits.dynamics.friction,
        curvature=curvature.largest,
        smallest_curvature=None,
        noise=shown.noise.largest,
        share=chosen.share,
        correction=None,
        relaxation_steps=chosen.relaxation_steps,
        batch_factor=chosen.batch_factor,
        plates=structure.plates,
        windows=windows,
        num_steps=num_steps,
        autocorrelation_time=need.time,
        slowest_site=need.site,
        is_measured=need.is_measured,
        seconds_per_transition=seconds,
        centring=_of_scales(target.centring),
    )
    warn_about_mixing(adaptation, structure, options, request.num_warmup)
    return Prepared(tuned, None, None, adaptation, starts_of(shown.walkers, wait))


def _of_scales(weights: dict[str, jax.Array] | None) -> dict[str, jax.Array] | None:
    """Return the weights of scales alone, which need no unit."""
    return None if weights is None else {name: both[..., 1] for name, both in weights.items()}


def _first_length(target: Target) -> int:
    (plate,) = target.structure.plates.values()
    sweep = -(-plate.size // plate.subsample_size)
    return min(max(SHORTEST, FIRST_SWEEPS * sweep), MOST_TRANSITIONS // 3)
