"""The draws of a finished run where the kernel made them: flat and unconstrained."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.distributions.transforms import Transform
from numpyro.infer.util import unconstrain_fn

from numpyro_sgmcmc.preparation import Target, View
from numpyro_sgmcmc.verdict.thresholds import DENSE


def unconstrained(target: Target, sites: dict[str, Any]) -> np.ndarray:
    """Return constrained draws, leading shape (n,), as flat positions (n, d).

    They are in double precision up to `DENSE` dimensions. Beyond, copies would take long to write:
    the draws keep their own precision.
    """
    structure = target.structure
    drawn = {name: np.asarray(sites[name]) for name in structure.prototype}
    if target.centring is not None:
        found = np.asarray(target.run(_flat, drawn, optimise=False))
        return found.astype(np.float64) if structure.dimension <= DENSE else found
    moved = target.run(_bounded, drawn, optimise=False) if structure.bounded else {}
    rows = len(next(iter(drawn.values())))
    kind = np.float64 if structure.dimension <= DENSE else np.result_type(*drawn.values())
    found, start = np.empty((rows, structure.dimension), kind), 0
    for name in sorted(drawn):
        values = np.asarray(moved.get(name, drawn[name])).reshape(rows, -1)
        found[:, start : start + values.shape[1]] = values
        start += values.shape[1]
    return found


def _flat(view: View, sites: dict[str, jax.Array]) -> jax.Array:
    """Return the draws as flat positions, (n, d)."""
    return jax.vmap(lambda draw: view.structure.ravel(_free(view, draw)))(sites)


def _bounded(view: View, sites: dict[str, jax.Array]) -> dict[str, jax.Array]:
    """Return the unconstrained values of the sites whose support is not all real numbers."""
    structure = view.structure

    def one(draw: dict[str, jax.Array]) -> dict[str, jax.Array]:
        if structure.transforms is None:
            values = _free(view, draw)
            return {name: values[name] for name in structure.bounded}
        inverses = {name: structure.transforms[name] for name in structure.bounded}
        return {name: nearest(t, jnp.asarray(t.inv(draw[name]))) for name, t in inverses.items()}

    return jax.vmap(one)(sites)


def _free(view: View, draw: dict[str, jax.Array]) -> dict[str, jax.Array]:
    """Return the unconstrained values of a draw."""
    structure = view.structure
    key = jax.random.key(0) if structure.needs_key else None
    model = structure.without_discrete(structure.with_minibatch(structure.placeholder(), key))
    free = unconstrain_fn(model, view.args, view.kwargs, draw)
    values = {name: free[name] for name in structure.prototype}
    for name, transform in (structure.transforms or {}).items():
        values[name] = nearest(transform, values[name])
    return values


def nearest(transform: Transform, value: jax.Array) -> jax.Array:
    """Return the value nearest to 0, from `log(2 / eps)` on, that the transform takes to the same.

    A probability that is rounded to 0 or 1 no longer tells its position. The inverse then takes the
    largest one possible, such as 85, and a few such draws would look like a heavy tail.
    """
    epsilon = jnp.finfo(value.dtype).eps
    far = jnp.log(2 / epsilon).astype(value.dtype)
    moved = transform(value)
    for low, high in ((None, far), (-far, None)):
        near = jnp.clip(value, low, high)
        is_same = jnp.abs(transform(near) - moved) <= 4 * epsilon * jnp.abs(moved)
        by_entry = transform.codomain.event_dim == 0
        value = jnp.where(is_same if by_entry else jnp.all(is_same), near, value)
    return value
