"""Settling: walkers go from several starts to the posterior by sweeps."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.model.local import Local, check_rows
from numpyro_sgmcmc.preparation.latents.beginnings import spread, started
from numpyro_sgmcmc.preparation.latents.potential import potential_of
from numpyro_sgmcmc.preparation.latents.recentring import Rows, in_coordinates, weights_of
from numpyro_sgmcmc.preparation.latents.starts import LatentStart, Starts
from numpyro_sgmcmc.preparation.latents.sweep import Swept, sweep
from numpyro_sgmcmc.preparation.options import Options
from numpyro_sgmcmc.preparation.request import Request
from numpyro_sgmcmc.preparation.target import Target, View

WALKERS = 4
"""Walkers that settle and measure; each keeps the latents of all rows."""

SWEEPS = 35
"""Sweeps until a walker has settled: a search for the mode of each row, and d Hessian products."""

KEPT = 5
"""Further sweeps in the coordinates of the run, whose Hessians are the curvature at typical
points."""

FEW_ROWS = 16_384
"""Rows of a sample with which walkers begin where there are many more, each with its own sample."""

MANY_ROWS = 4 * FEW_ROWS
"""Rows up to which no sample is taken: it would save less than another program takes to compile."""

SWEEPS_OF_ALL = 5
"""Sweeps over all rows after those over a sample. The walkers then differ by about the root of
N / `FEW_ROWS` standard deviations at first, and the windows measure what is left of it."""

COLLAPSED = 2.5
"""How many times as fast shared parameters must relax in other coordinates for walkers to settle
anew."""

NEGLIGIBLE = 50.0
"""Logarithm of a ratio of densities that no chain would see."""

Weights: TypeAlias = dict[str, jax.Array] | None
"""Weights of coordinates of latents of rows, by site; None if they move as the model has them."""


class Settled(NamedTuple):
    """Where walkers are after their sweeps.

    Attributes:
        starts: of chains.
        hessians: in z at last points, (m, d, d).
        weights: of the coordinates in which these are.
    """

    starts: Starts
    hessians: jax.Array
    weights: Weights


class _Outcome(NamedTuple):
    """A walker after some sweeps: Hessians of the last ones, and their mean `level`."""

    walker: Swept
    hessians: list[jax.Array]
    level: float


def check_independence(target: Target) -> None:
    """Raise an error if rows depend on each other, given the shared parameters.

    Raises:
        ValueError: if they do.
    """
    view = View(target.structure, target.minibatch, target.args, target.kwargs)
    check_rows(potential_of(view), jax.random.key(0))


def settled(target: Target, key: jax.Array, options: Options, request: Request) -> Settled:
    """Return where walkers are after their sweeps, in coordinates that suit the latents of rows.

    The walkers show in which coordinates of the latents the shared parameters relax faster
    (`weights_of`). If these are much faster than those of the model, the walkers settle in them
    anew: centred latents of which rows say little may have led them to a tiny scale. In the end
    each row gets weights of its own. Walkers that have not arrived are replaced by the one that is
    best; see `arrived`.

    Raises:
        ValueError: if no start is finite.
    """
    local = target.structure.local
    assert local is not None
    is_sampled = local.rows > MANY_ROWS
    keys, keys_all, keys_last = (random.keys_of(each, WALKERS) for each in random.keys_of(key, 3))
    settle = _with_a_sample if is_sampled else _with_all_rows
    found = [settle(target, own, options, request) for own in keys]
    weights = weights_of(target, options, _there(local, found), COLLAPSED)
    if weights is not None:
        target, keys = target.partly_centred(weights), random.keys_of(jax.random.key(10), WALKERS)
        found = [settle(target, own, options, request) for own in keys]
    if is_sampled:
        pairs = zip(keys_all, found, strict=True)
        found = [_over_all_rows(target, own, before.walker) for own, before in pairs]
    walkers = [each.walker for each in found]
    better = weights_of(target, options, _there(local, found))
    if better is not None:
        walkers = [_moved(target, walker, better) for walker in walkers]
        target = target.partly_centred(better)
    pairs = zip(keys_last, walkers, strict=True)
    found = [_after_sweeps(target, random.keys_of(own, KEPT), walker) for own, walker in pairs]
    finite = [bool(each.walker.is_finite) for each in found]
    if not all(finite):
        raise ValueError(
            f"Expected walkers that settle where the joint density of shared parameters and latents"
            f" of rows is finite; got {finite.count(False)} of {WALKERS} that do not. Pass"
            " `init_params` of the shared sites, or an `init_strategy`, near the posterior; check"
            " the data for extreme values."
        )
    places = _replaced(local, found)
    hessians = [hessian for place in sorted(set(places)) for hessian in found[place].hessians]
    starts = _stacked([_start_of(found[place].walker) for place in places])
    return Settled(starts, _stacked(hessians), target.centring)


def _with_all_rows(target: Target, key: jax.Array, options: Options, request: Request) -> _Outcome:
    local = target.structure.local
    assert local is not None
    key_start, *keys = random.keys_of(key, SWEEPS + 1)
    walker = started(target, key_start, options, request, jnp.arange(local.rows))
    return _after_sweeps(target, keys, walker)


def _with_a_sample(target: Target, key: jax.Array, options: Options, request: Request) -> _Outcome:
    """Return a walker that has settled with a sample of rows, as if there were no others."""
    local = target.structure.local
    assert local is not None
    key_rows, key_start, *keys = random.keys_of(key, SWEEPS + 2)
    drawn = jax.random.choice(key_rows, local.rows, (FEW_ROWS,), replace=False)
    walker = started(target, key_start, options, request, jnp.sort(drawn))
    return _after_sweeps(target, keys, walker)


def _over_all_rows(target: Target, key: jax.Array, walker: Swept) -> _Outcome:
    """Return a walker with a sample of rows after sweeps over all rows."""
    local = target.structure.local
    assert local is not None
    key, key_spread = random.keys_of(key, 2)
    rows = jnp.arange(local.rows)
    walker = target.run(spread, key_spread, walker, rows, optimise=False)
    return _after_sweeps(target, random.keys_of(key, SWEEPS_OF_ALL), walker)


def _after_sweeps(target: Target, keys: Sequence[jax.Array], walker: Swept) -> _Outcome:
    local = target.structure.local
    assert local is not None
    hessians, levels, rows, has_level = [], [], walker.rows, not local.discrete
    for number, key_sweep in enumerate(keys):
        walker = target.run(sweep, key_sweep, walker)
        if number >= len(keys) - KEPT:
            hessians.append(walker.hessian)
            if has_level:
                levels.append(float(target.run(level, walker, optimise=False)))
    # Walkers share one array of rows' numbers.
    return _Outcome(walker._replace(rows=rows), hessians, float(np.mean(levels or [0.0])))


def _replaced(local: Local, found: Sequence[_Outcome]) -> list[int]:
    """Return for each walker which one takes its place; with discrete latents it is itself."""
    if local.discrete:
        return list(range(len(found)))
    numbers = len(found[0].walker.rows) * local.dimension
    return arrived(np.array([each.level for each in found]), numbers).tolist()


def _there(local: Local, found: Sequence[_Outcome]) -> list[Rows]:
    """Return the latents of the walkers that have arrived."""
    return [_rows_of(found[place].walker) for place in sorted(set(_replaced(local, found)))]


def _rows_of(walker: Swept) -> Rows:
    return Rows(walker.position, walker.values, walker.factor, walker.rows)


def _moved(target: Target, walker: Swept, weights: dict[str, jax.Array]) -> Swept:
    """Return a walker at the same values in other coordinates. A sweep renews all but these."""
    return walker._replace(values=in_coordinates(target, _rows_of(walker), weights))


def level(view: View, walker: Swept) -> jax.Array:
    """Return U(z, a) - sum log |L_i| at latents a drawn with the covariances L_i L_i'.

    But for a constant, and for the draws' chance, this is the negative logarithm of the density of
    z with all latents integrated out by Laplace's method. The chance of k latents in all has a
    standard deviation of (k / 2)^1/2.
    """
    return walker.energy - jnp.sum(jnp.linalg.slogdet(walker.factor)[1])


def arrived(levels: np.ndarray, numbers: int) -> np.ndarray:
    """Return for each walker which one takes its place: itself if it has arrived, else the best.

    A walker has not arrived if the posterior's density there is less than exp(-`NEGLIGIBLE`) times
    that of the best walker, by more than six standard deviations of what chance does to the
    difference. Another mode of less weight than that would not be seen by any chain.

    Args:
        levels: of the walkers, (walkers,).
        numbers: of latents in all.
    """
    best = int(np.argmin(levels))
    lost = levels - levels[best] > NEGLIGIBLE + 6 * numbers**0.5
    return np.where(lost, best, np.arange(len(levels)))


@jax.jit
def _stacked(each: list) -> Any:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *each)


def _start_of(walker: Swept) -> Starts:
    none = jnp.zeros((), jnp.int32)
    latents = LatentStart(walker.values, walker.discrete, walker.factor, walker.step, none)
    return Starts(walker.position, latents)
