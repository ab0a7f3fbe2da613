"""Locating the posterior: a first Gaussian approximation, and an anchor."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.gradient import Anchor
from numpyro_sgmcmc.model import movable_sites
from numpyro_sgmcmc.preparation import row_sums
from numpyro_sgmcmc.preparation.approach import approached, is_far
from numpyro_sgmcmc.preparation.approximation import (
    Approximation,
    describes,
    is_minimum,
    is_sound,
    laplace,
    laplace_at,
    surroundings,
    surroundings_of,
)
from numpyro_sgmcmc.preparation.averaged import with_correlations
from numpyro_sgmcmc.preparation.informed import informed_fit, non_centred
from numpyro_sgmcmc.preparation.mean_field import mean_field
from numpyro_sgmcmc.preparation.mode import Mode, adam, is_dense, newton
from numpyro_sgmcmc.preparation.mode_search import ALL_STEPS, describe, find_mode, refined
from numpyro_sgmcmc.preparation.other_modes import best_mode
from numpyro_sgmcmc.preparation.params import flatten_params
from numpyro_sgmcmc.preparation.refusal import check_resolution
from numpyro_sgmcmc.preparation.secants import with_secants
from numpyro_sgmcmc.preparation.start import several_keys
from numpyro_sgmcmc.preparation.target import Target, View
from numpyro_sgmcmc.preparation.thresholds import SCALES_LOOKED_AT
from numpyro_sgmcmc.preparation.warn import (
    check_finite,
    warn_about_mode,
    warn_about_other_modes,
)
from numpyro_sgmcmc.state import OtherModes


class Located(NamedTuple):
    """The start of a warm-up.

    Attributes:
        approximation: a Gaussian approximation of the posterior.
        anchor: a point near its centre, with U and grad U at that point.
        other_modes: modes that other searches found; None if there are none.
        centring: weights of the coordinates of effects, by site; None if effects move as the model
            has them.
        stiffest: a curvature that walkers are known to meet, in units of the inverse variance of
            its direction; 0 if none is known.
    """

    approximation: Approximation
    anchor: Anchor
    other_modes: OtherModes | None = None
    centring: dict[str, jax.Array] | None = None
    stiffest: float = 0.0


def locate(
    target: Target,
    key: jax.Array,
    key_others: jax.Array,
    starts: jax.Array | None,
    given: dict[str, Any] | None,
    temperature: float,
    may_recentre: bool = False,
) -> Located:
    """Return the Laplace approximation at a mode, or a mean-field fit if it is not sound.

    Where the density has kinks, the mode's curvature is that of secants; see `with_secants`.
    Up to 500 dimensions the fit has correlations; see `with_correlations`.

    The mode is the best of those that are found from several starts, if the mode found from the
    first start is sound. In small models a mean-field fit may choose other coordinates of effects.

    Args:
        target: the model bound to its data.
        key: key of the first search and of the fit.
        key_others: key of the other searches.
        starts: flat positions at which searches begin, (searches, d); None if an anchor is given.
        given: the user's anchor (unconstrained values by site name), or None.
        temperature: T.
        may_recentre: whether effects may have other coordinates than in the model.

    Raises:
        ValueError: if U or its gradient is not finite at the point that was found, or if the type
            cannot resolve the posterior there.
    """
    key_mode, key_check, key_fit = random.keys_of(key, 3)
    if starts is None:
        mode = find_anchor(target, key_mode, None, given)
        return Located(target.run(laplace_at, mode, optimise=False), anchor_of(mode))
    start = starts[0]
    if isinstance(start, Tracer):
        mode = find_mode(target, key_mode, start)
        warn_about_mode(target.structure, mode, given=False)
        return Located(target.run(laplace_at, mode, optimise=False), anchor_of(mode))
    if is_dense(start):
        key_others, key_sound = random.keys_of(key_others, 2)
        keys = several_keys(key_mode, key_others, len(starts))
        ends = np.asarray(target.run(adam, keys, starts, optimise=False))
        mode = refined(target, ends[0])
        found = surroundings_of(target, mode, key_check, jnp.asarray(ends[1:]))
        if describes(mode, found):
            mode, others = best_mode(target, mode, found, ends[1:], key_sound, temperature)
            warn_about_mode(target.structure, mode, given=False)
            warn_about_other_modes(target.structure, others)
            approximation = target.run(laplace_at, mode, optimise=False)
            return Located(approximation, anchor_of(mode), others)
        key_secants, key_again = random.keys_of(jax.random.key(5), 2)
        mended = with_secants(target, mode, key_secants)
        if mended is not None and is_sound(target, mended, key_again):
            approximation = target.run(laplace_at, mended, optimise=False)
            return Located(approximation, anchor_of(mended))
        if is_minimum(mode):
            # Between neighbouring numbers, rounding alone makes U differ from a Gaussian's.
            scale = np.linalg.norm(laplace(mode).spread.factor, axis=1)
            check_resolution(target.structure, mode.position, scale)
    effects = effects_of(target, jax.random.key(3), start) if may_recentre else ()
    stiffest, approach = 0.0, None
    if not is_dense(start) or is_far(mode, start):
        approach = approached(non_centred(target, effects), jax.random.key(7), start)
    if effects and (not is_dense(start) or approach is not None):
        found = informed_fit(target, key_fit, start, effects, approach)
        approximation, centring, stiffest = found
    elif approach is not None:
        fit = mean_field(target, key_fit, approach.position, units=approach.units)
        approximation, centring = fit
    else:
        approximation, centring = mean_field(target, key_fit, start, effects)
    chosen = target.partly_centred(centring)
    anchor = anchor_at(chosen, approximation.centre)
    check_finite(anchor)
    approximation = with_correlations(chosen, jax.random.key(4), approximation)
    return Located(approximation, anchor, None, centring, stiffest)


def effects_of(target: Target, key: jax.Array, start: jax.Array) -> tuple[str, ...]:
    """Return the sites of effects that can move in other coordinates.

    Scales that the model computes must vary, and be positive wherever positions are drawn.
    """
    structure, args, kwargs = target.structure, target.args, target.kwargs
    draw = partial(structure.constrain, args=args, kwargs=kwargs)
    values = jax.eval_shape(draw, jax.eval_shape(structure.unravel, start))
    names = movable_sites(structure, values, args, kwargs)
    if not names:
        return ()
    computed = {image.site for image in structure.images(args, kwargs)}.intersection(names)
    if not computed:
        return names
    found = target.run(_scales, key, start)
    return tuple(name for name in names if name not in computed or _is_scale(found[name]))


def _is_scale(found: jax.Array) -> bool:
    """Return whether a scale (positions, ...) varies and is never negative.

    It may be 0 at some positions, where it is too small for its type.
    """
    scale = np.asarray(found)
    known = scale[np.all(scale.reshape(len(scale), -1) > 0, axis=1)]
    return bool(np.all(scale >= 0) and len(known) and np.any(np.ptp(known, axis=0) > 0))


def _scales(view: View, key: jax.Array, like: jax.Array) -> dict[str, jax.Array]:
    """Return scales that the model computes, by site, at some positions like one of shape (d,)."""
    found = view.structure.images(view.args, view.kwargs)
    some = random.uniform(key, (SCALES_LOOKED_AT, *like.shape), like.dtype, -2.0, 2.0)

    def at(position: jax.Array) -> dict[str, jax.Array]:
        values = view.structure.by_site(position)
        return {image.site: image.location_and_scale(values)[3] for image in found}

    return jax.vmap(at)(some)


def compile_ahead(target: Target, searches: int) -> Located:
    """Begin to compile the programs of `locate`; return the shapes of its result.

    The programs are those of a sound mode, for models small enough that the Hessian is formed.
    """
    key = jax.eval_shape(jax.random.key, 0)
    dtype = jnp.result_type(*jax.tree.leaves(target.structure.prototype))
    position = jax.ShapeDtypeStruct((target.structure.dimension,), dtype)
    starts = jax.ShapeDtypeStruct((searches, *position.shape), dtype)
    keys = jax.ShapeDtypeStruct((searches,), key.dtype)
    target.ahead(adam, keys, starts, optimise=False)
    mode = target.ahead(newton, position, ALL_STEPS)
    ends = jax.ShapeDtypeStruct((searches - 1, *position.shape), dtype)
    target.ahead(surroundings, mode, key, ends)
    return Located(target.ahead(laplace_at, mode, optimise=False), anchor_of(mode))


def find_anchor(
    target: Target, key: jax.Array, start: jax.Array | None, given: dict[str, Any] | None
) -> Mode:
    """Return the user's anchor, or the mode that a search from `start` finds."""
    if given is not None:
        mode = describe(target, flatten_params(target.structure, given, "anchor"))
    else:
        assert start is not None
        mode = find_mode(target, key, start)
    warn_about_mode(target.structure, mode, given is not None)
    return mode


def anchor_of(mode: Mode) -> Anchor:
    """Return the mode as an anchor."""
    return Anchor(*mode[:3])


def anchor_at(target: Target, position: jax.Array) -> Anchor:
    """Return an anchor at `position`: the point, and U and grad U of the whole data there."""
    return Anchor(position, *target.total(View.value_and_grad, row_sums.value_and_grad, position))
