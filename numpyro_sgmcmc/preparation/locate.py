"""Locating the posterior: a first Gaussian approximation, and an anchor."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.core import Tracer

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.gradient import Anchor
from numpyro_sgmcmc.preparation.approximation import (
    Approximation,
    energy_ratios,
    is_sound,
    laplace_at,
    mean_field,
)
from numpyro_sgmcmc.preparation.mode import Mode, adam, describe, find_mode, is_dense, newton
from numpyro_sgmcmc.preparation.params import flatten_params
from numpyro_sgmcmc.preparation.target import Target, View
from numpyro_sgmcmc.preparation.warn import check_finite, warn_about_mode


class Located(NamedTuple):
    """The start of a warm-up.

    Attributes:
        approximation: a Gaussian approximation of the posterior.
        anchor: a point near its centre, with U and grad U at that point.
    """

    approximation: Approximation
    anchor: Anchor


def locate(
    target: Target, key: jax.Array, start: jax.Array | None, given: dict[str, Any] | None
) -> Located:
    """Return the Laplace approximation at a mode, or a mean-field fit if it is not sound.

    Args:
        target: the model bound to its data.
        key: key of the search and of the fit.
        start: flat position at which the search begins; None if an anchor is given.
        given: the user's anchor (unconstrained values by site name), or None.

    Raises:
        ValueError: if U or its gradient is not finite at the point that was found.
    """
    key_mode, key_check, key_fit = random.keys_of(key, 3)
    if start is None:
        mode = find_anchor(target, key_mode, start, given)
        return Located(target.run(laplace_at, mode, optimise=False), anchor_of(mode))
    if isinstance(start, Tracer) or is_dense(start):
        mode = find_mode(target, key_mode, start)
        if is_sound(target, mode, key_check):
            warn_about_mode(target.structure, mode, given=False)
            return Located(target.run(laplace_at, mode, optimise=False), anchor_of(mode))
    approximation = mean_field(target, key_fit, start)
    anchor = anchor_at(target, approximation.centre)
    check_finite(anchor)
    return Located(approximation, anchor)


def compile_ahead(target: Target) -> Located:
    """Begin to compile the programs of `locate`; return the shapes of its result.

    The programs are those of a sound mode, for models small enough that the Hessian is formed.
    """
    key = jax.eval_shape(jax.random.key, 0)
    dtype = jnp.result_type(*jax.tree.leaves(target.structure.prototype))
    position = jax.ShapeDtypeStruct((target.structure.dimension,), dtype)
    target.ahead(adam, key, position, optimise=False)
    mode = target.ahead(newton, position)
    target.ahead(energy_ratios, mode, key)
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
    return Anchor(position, *target.run(value_and_grad, position))


def value_and_grad(view: View, position: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return U and grad U of the whole data."""
    return view.value_and_grad(position)
