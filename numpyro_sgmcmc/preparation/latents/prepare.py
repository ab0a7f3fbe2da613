"""The stages of the preparation of a run with latents of rows."""

from time import perf_counter
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.latents import LatentTable
from numpyro_sgmcmc.preconditioner import Dense, Identity
from numpyro_sgmcmc.preparation.autocorrelation import Slowest, slowest
from numpyro_sgmcmc.preparation.axes import principal_axes
from numpyro_sgmcmc.preparation.kinks import Typical
from numpyro_sgmcmc.preparation.latents.approach import approached
from numpyro_sgmcmc.preparation.latents.checks import check_options, has_table
from numpyro_sgmcmc.preparation.latents.pooled import pooled
from numpyro_sgmcmc.preparation.latents.settle import check_independence, settled
from numpyro_sgmcmc.preparation.latents.starts import starts_of, walkers_of
from numpyro_sgmcmc.preparation.latents.window import LatentWindow, Shown
from numpyro_sgmcmc.preparation.limits import Limits, choose, limits_of
from numpyro_sgmcmc.preparation.noise import Noise, silence
from numpyro_sgmcmc.preparation.options import Options
from numpyro_sgmcmc.preparation.pace import need_of, pace_of, steps_of_draws
from numpyro_sgmcmc.preparation.prepared import Adaptation, Prepared
from numpyro_sgmcmc.preparation.request import Request
from numpyro_sgmcmc.preparation.target import Target, is_traced
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


def prepare_with_latents(target: Target, options: Options, request: Request) -> Prepared:
    """Return what a run starts from, for a model with latents of rows.

    Walkers settle from several starts by sweeps of an approximate Gibbs sampler, whose Hessians
    give the preconditioner and the curvature. Unless the user gave a step size, windows of the
    run's own transitions follow, which measure the gradient noise and what the slowest coordinate
    needs. For more than 300 shared parameters see `approached`.

    Raises:
        TypeError: if an option does not go with latents of rows.
        ValueError: likewise, if rows depend on each other, if JAX is tracing, or if no start is
            finite.
    """
    structure = target.structure
    check_options(options, structure)
    if is_traced((target.args, target.kwargs, request.init_params)):
        raise ValueError(
            "Expected a run outside `jax.jit` for a model with latents of rows; got one inside."
        )
    check_independence(target)
    key_settle, key = random.keys_of(jax.random.key(2), 2)
    if not has_table(structure):
        return approached(target, key_settle, options, request)
    starts, hessians = settled(target, key_settle, options, request)
    linear: Any = options.preconditioner
    if linear is None:
        linear = Identity() if options.step_size is not None else _root(hessians)
    curvature = typical(hessians, linear)
    nothing = jnp.zeros_like(curvature.largest)
    limits = limits_of(options.dynamics, curvature, nothing, structure.dimension, 1.0)
    if options.step_size is not None:
        friction = None
        if options.dynamics.needs_friction:
            # Keeps exp(-D h) above 1/e, as in `complete`.
            friction = jnp.minimum(limits.dynamics.friction, 1.0 / options.step_size(0))
        assert options.num_steps is not None
        first = starts.waiting(options.num_steps * request.num_warmup)
        return Prepared(Tuned(None, friction, linear, LatentTable()), None, None, None, first)
    chosen = _chosen(options, linear, curvature, silence(nothing, structure.dimension), limits, 1.0)
    window, done = LatentWindow(limits.dynamics, options.temperature, options.increments), []
    walkers = target.run(walkers_of, starts, optimise=False)
    del starts, hessians
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
        walkers, seen, centre = shown.walkers, shown.seen, np.asarray(shown.centre, np.float64)
        if earlier is not None:
            seen = pooled(earlier[0], seen, centre - earlier[1])
        found = slowest(seen)
        if float(shown.seen.diverging) > 0:
            caution /= 2
        before = chosen
        chosen = _chosen(options, linear, curvature, shown.noise, limits, caution)
        change = float(chosen.step_size) / float(before.step_size)
        is_same = change > 0.9
        # In the first window walkers still leave their starts, which looks like a short time.
        is_known = len(done) > 1 and found is not None and found.is_known and is_same
        if is_known or len(done) == MOST_WINDOWS or 2 * length + sum(done) > MOST_TRANSITIONS:
            break
        earlier = (seen, centre) if len(done) > 1 and 0.9 < change < 1 / 0.9 else None
        length *= 2
    settings = chosen, curvature, shown, found, 1 / change, len(done), seconds
    return _prepared(target, options, request, *settings)


class _Choice(NamedTuple):
    """Settings, and the values of `Adaptation` that come with them."""

    tuned: Tuned
    step_size: jax.Array
    limits: Limits
    share: jax.Array
    relaxation_steps: jax.Array
    batch_factor: jax.Array


def _chosen(
    options: Options,
    linear: Any,
    curvature: Typical,
    noise: Noise,
    limits: Limits,
    caution: float,
) -> _Choice:
    """Return the settings that curvature and noise allow, with the friction of `limits`."""
    dimension = noise.correction.dimension
    limits = limits_of(limits.dynamics, curvature, noise.largest, dimension, 1.0)
    found = choose(limits, noise, uncorrected_share(curvature.variation), caution, 1.0, False)
    friction = limits.dynamics.friction if options.dynamics.needs_friction else None
    step_size = found.step_size.astype(noise.largest.dtype)
    tuned = Tuned(step_size, friction, linear, LatentTable())
    return _Choice(
        tuned, step_size, limits, found.share, found.relaxation_steps, found.batch_factor
    )


def _prepared(
    target: Target,
    options: Options,
    request: Request,
    chosen: _Choice,
    curvature: Typical,
    shown: Shown,
    found: Slowest | None,
    slower: float,
    windows: int,
    seconds: float | None,
) -> Prepared:
    """Return the settings with the number of transitions of a draw, and what was measured."""
    structure, tuned = target.structure, chosen.tuned
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
    )
    warn_about_mixing(adaptation, structure, options, request.num_warmup)
    return Prepared(tuned, None, None, adaptation, starts_of(shown.walkers, wait))


def _first_length(target: Target) -> int:
    (plate,) = target.structure.plates.values()
    sweep = -(-plate.size // plate.subsample_size)
    return min(max(SHORTEST, FIRST_SWEEPS * sweep), MOST_TRANSITIONS // 3)


def _root(hessians: jax.Array) -> Dense:
    """Return the map whose coordinates have the curvature 1 on average, given the latents."""
    axes = principal_axes(hessians.mean(0))
    return Dense(axes.root(jnp.abs(axes.curvatures)))


def typical(hessians: jax.Array, linear: Any) -> Typical:
    """Return the curvature of some Hessians, (m, d, d), in a map's coordinates."""
    half = jax.vmap(jax.vmap(linear.transpose))(hessians)
    whitened = jax.vmap(jax.vmap(linear.transpose))(jnp.swapaxes(half, 1, 2))
    largest = jnp.max(jnp.abs(jnp.linalg.eigvalsh(whitened)))
    traces = jnp.trace(whitened, axis1=1, axis2=2)
    return Typical(largest, jnp.mean(traces) / hessians.shape[1], jnp.std(traces))
