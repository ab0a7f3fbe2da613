"""The search for a mode, whose passes over all rows are made here or by other processes."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize
from jax.core import Tracer

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.preparation import row_sums
from numpyro_sgmcmc.preparation.mode import (
    Mode,
    Search,
    adam,
    first_search,
    is_dense,
    is_unfinished,
    lbfgs,
    mode_at,
    newton,
    next_search,
    probe_keys,
    with_diagonal,
    with_hessian,
)
from numpyro_sgmcmc.preparation.start_thresholds import ARRIVED, LBFGS_STEPS, NEWTON_STEPS
from numpyro_sgmcmc.preparation.target import Target, View

ALL_STEPS = np.int32(NEWTON_STEPS)


def find_mode(target: Target, key: jax.Array, start: jax.Array) -> Mode:
    """Search for a mode of U from `start`: Adam on minibatches, then Newton's method or L-BFGS.

    Adam approaches the mode from a rough start, but stalls if scales differ by orders of magnitude.
    If the Hessian can be formed, Newton's method follows. If it does not converge, L-BFGS with the
    exact gradient and Newton's method again follow. In higher dimensions L-BFGS is used alone. (In
    single precision its line search cannot resolve U below about 1e-7 |U|, which may be several
    standard deviations. Newton's method needs gradients only.)
    """
    is_long = not is_dense(start)
    return refined(target, target.run(adam, key[None], start[None], optimise=is_long)[0])


def refined(target: Target, position: jax.Array) -> Mode:
    """Return the mode near a position at which Adam ended."""
    if not is_dense(position):
        return describe(target, _lbfgs_from(target, position))
    mode = newton_from(target, position)
    if not isinstance(mode.position, Tracer) and float(mode.distance) < ARRIVED:
        return mode
    return newton_from(target, _lbfgs_from(target, mode.position))


def describe(target: Target, position: jax.Array) -> Mode:
    """Return U, its gradient and its Hessian (or an estimate of its diagonal) at a point."""
    if not _is_elsewhere(target, position):
        return target.run(with_hessian if is_dense(position) else with_diagonal, position)
    if is_dense(position):
        return _dense_mode(position, *target.total_elsewhere(row_sums.second_order, position))
    each = []
    for key in probe_keys():
        signs = random.signs(key, position.shape, position.dtype)
        each.append(signs * target.total_elsewhere(row_sums.hessian_product, position, signs))
    energy, gradient = target.total_elsewhere(row_sums.value_and_grad, position)
    diagonal = jnp.mean(jnp.stack(each), axis=0)
    return Mode(position, energy, gradient, diagonal, jnp.asarray(jnp.inf))


def second_order(
    target: Target, position: jax.Array | np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return U, its gradient and its Hessian at a concrete point; NaN where U is not finite.

    In dimensions in which the warm-up forms the Hessian this is Newton's method, ended at its first
    point, because the warm-up has compiled that program. It has not for effects that moved to other
    coordinates.
    """
    if not is_dense(position) or target.centring is not None:
        return jax.device_get(target.run(View.second_order, position))
    mode = jax.device_get(target.run(newton, position, np.int32(1)))
    found = mode.potential_energy, mode.gradient, mode.hessian
    return found if np.isfinite(mode.potential_energy) else tuple(x * np.nan for x in found)


def newton_from(target: Target, start: jax.Array) -> Mode:
    """Return the last point of damped Newton steps on the whole data, started at `start`."""
    if not _is_elsewhere(target, start):
        return target.run(newton, start, ALL_STEPS)
    search = first_search(start)
    while bool(is_unfinished(search)):
        search = _after(search, *target.total_elsewhere(row_sums.second_order, search.candidate))
    return search.mode


def _lbfgs_from(target: Target, start: jax.Array) -> jax.Array:
    if not _is_elsewhere(target, start):
        return target.run(lbfgs, start)

    def energy(position: np.ndarray) -> tuple[float, np.ndarray]:
        at = jnp.asarray(position, start.dtype)
        value, gradient = target.total_elsewhere(row_sums.value_and_grad, at)
        return float(value), np.asarray(gradient, np.float64)

    _, gradient = energy(np.asarray(start))
    least = 1e-6 * max(1.0, float(np.abs(gradient).max()))
    options = {"maxiter": LBFGS_STEPS, "gtol": least, "ftol": 0.0}
    first = np.asarray(start, np.float64)
    found = scipy.optimize.minimize(energy, first, jac=True, method="L-BFGS-B", options=options)
    return jnp.asarray(found.x, start.dtype)


def _is_elsewhere(target: Target, position: Any) -> bool:
    return target.passes is not None and not isinstance(position, Tracer)


@jax.jit
def _dense_mode(position: Any, energy: Any, gradient: Any, hessian: Any) -> Mode:
    return mode_at(position, energy, gradient, (hessian + hessian.T) / 2)


@jax.jit
def _after(search: Search, energy: Any, gradient: Any, hessian: Any) -> Search:
    return next_search(search, _dense_mode(search.candidate, energy, gradient, hessian))
