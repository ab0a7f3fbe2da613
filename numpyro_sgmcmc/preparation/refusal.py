"""Errors for potentials or derivatives that are not finite, and for too coarse number types."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.flatten_util import ravel_pytree

from numpyro_sgmcmc.model import Structure, log_densities
from numpyro_sgmcmc.preparation.start_thresholds import COARSEST
from numpyro_sgmcmc.preparation.target import Target, View

MOST_LOOKED_AT = 16
"""Points at which an error looks for the site whose derivatives are not finite."""


def check_start(target: Target, position: jax.Array, finite: bool) -> None:
    """Raise an error if the potential or its gradient is not finite at a start.

    Arguments of the model may hold NaN under a mask. If some do, the whole data are checked.

    Args:
        target: the model bound to its data.
        position: the start, flat.
        finite: whether a minibatch's potential and gradient are finite at the start.

    Raises:
        ValueError: if they are not finite; names the sites and arguments that are not.
    """
    bad_arguments = target.non_finite_arguments
    if finite and not bad_arguments:
        return
    key = jax.random.key(1)
    view_gradient = _whole_gradient if bad_arguments else _minibatch_gradient
    energy, gradient = target.run(view_gradient, key, position)
    if finite and np.isfinite(energy) and np.all(np.isfinite(gradient)):
        return
    densities = target.run(_densities_over_blocks if bad_arguments else _densities, key, position)
    sites = [name for name, value in densities.items() if not np.isfinite(value)]
    by_site = target.structure.by_site(gradient)
    slopes = [name for name, value in by_site.items() if not np.all(np.isfinite(value))]
    found = []
    if sites:
        found.append(f"a log density that is not finite at site(s) {', '.join(map(repr, sites))}")
    if slopes:
        found.append(f"a gradient that is not finite for {', '.join(map(repr, slopes))}")
    found = found or ["values that overflow for some minibatches"]
    data = f" The data are not finite in {', '.join(bad_arguments)}." if bad_arguments else ""
    raise ValueError(
        f"Expected a finite potential and gradient at the start of the chain; got"
        f" {' and '.join(found)}.{data}"
        " Remove or mask non-finite rows, or pass `init_params` or an `init_strategy` inside the"
        " support."
    )


def check_starts(target: Target, starts: dict[str, Any], finite: Any) -> None:
    """Raise an error if the start of any chain is not finite.

    Nothing is checked under a JAX transformation, because values are not known then.

    Raises:
        ValueError: if a start is not finite; see `check_start`.
    """
    if isinstance(finite, Tracer):
        return
    sound = np.asarray(finite)
    worst = int(np.argmin(sound))
    start = jax.tree.map(lambda z: z[worst], starts) if sound.ndim else starts
    check_start(target, ravel_pytree(start)[0], bool(sound.all()))


def check_resolution(structure: Structure, centre: jax.Array, scale: jax.Array) -> None:
    """Raise an error if floating-point numbers near the posterior are too far apart for it.

    A transition moves a coordinate by a fraction of its standard deviation. Rounding then adds
    noise, or holds the coordinate where it is.

    Args:
        structure: of the model.
        centre: of the posterior, (d,).
        scale: standard deviations, (d,).

    Raises:
        ValueError: if neighbouring numbers are more than COARSEST standard deviations apart.
    """
    if isinstance(centre, Tracer):
        return
    where, width = np.asarray(centre), np.asarray(scale)
    apart = np.spacing(np.abs(where)) / np.maximum(width, np.finfo(width.dtype).tiny)
    worst = int(np.argmax(apart))
    if not apart[worst] > COARSEST:
        return
    site = structure.sites()[worst]
    raise ValueError(
        f"Expected a posterior that {where.dtype} can resolve; got site {site!r}, which is near"
        f" {where[worst]:.6g} on the unconstrained space, with a standard deviation near"
        f" {width[worst]:.2g}: neighbouring numbers there are {apart[worst]:.2g} standard"
        " deviations apart. Centre the data, or call numpyro.enable_x64() before anything else."
    )


def check_measured(target: Target, points: jax.Array, step_size: jax.Array) -> None:
    """Raise an error if derivatives around a mode are not finite, so that no step size follows.

    Args:
        target: the model bound to its data.
        points: draws around the mode, (n, d).
        step_size: what follows from curvature and gradient noise at these.

    Raises:
        ValueError: if the step size is not finite; names the sites whose derivatives are not.
    """
    if isinstance(step_size, Tracer) or np.isfinite(float(step_size)):
        return
    found = target.run(_derivatives, jax.random.key(1), points[:MOST_LOOKED_AT], optimise=False)
    sites = target.structure.sites()
    where, what = "a curvature or gradient noise that is not finite", "derivatives"
    for order, derivatives in zip(("first", "second"), map(np.asarray, found), strict=True):
        bad = ~np.isfinite(derivatives)
        if bad.any():
            names = ", ".join(map(repr, dict.fromkeys(sites[bad.any(0)])))
            count = f"{bad.any(1).sum()} of {len(bad)} points"
            where, what = f"values that are not finite for {names} at {count}", f"{order} {what}"
            break
    raise ValueError(
        f"Expected finite {what} of the log density around its mode; got {where}. Write the"
        " model so that it neither overflows nor underflows there: use logarithms of scales and of"
        " probabilities, and inside `jnp.where` values that are finite in both branches. Or call"
        " numpyro.enable_x64() before anything else, or pass step_size."
    )


def _derivatives(view: View, key: jax.Array, points: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return gradients and products of Hessians with a vector of ones, (n, d) each."""
    minibatch = view.many_rows(key)
    gradient = jax.grad(view.potential)

    def both(position: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jax.jvp(lambda z: gradient(z, minibatch), (position,), (jnp.ones_like(position),))

    return jax.lax.map(both, points)


def _minibatch_gradient(view: View, key: jax.Array, position: jax.Array) -> Any:
    return jax.value_and_grad(view.potential)(position, view.draw(key))


def _whole_gradient(view: View, key: jax.Array, position: jax.Array) -> Any:
    return view.value_and_grad(position)


def _densities(view: View, key: jax.Array, position: jax.Array) -> dict[str, jax.Array]:
    return log_densities(view.structure, view.args, view.kwargs, position, view.draw(key))


def _densities_over_blocks(view: View, key: jax.Array, position: jax.Array) -> dict[str, jax.Array]:
    return view.over(
        lambda batch: log_densities(view.structure, view.args, view.kwargs, position, batch)
    )
