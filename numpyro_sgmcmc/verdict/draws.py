"""The draws of a finished run where the kernel made them: flat and unconstrained."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from numpyro.infer.util import unconstrain_fn

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.gradient import Anchor, Plain
from numpyro_sgmcmc.gradient.fixed_point import controlled_estimate
from numpyro_sgmcmc.preparation import Target, View


def unconstrained(target: Target, sites: dict[str, Any]) -> np.ndarray:
    """Return constrained draws, leading shape (n,), as flat positions (n, d)."""
    wanted = {name: jnp.asarray(sites[name]) for name in target.structure.prototype}
    return np.asarray(target.run(_unconstrain, wanted), np.float64)


def gradients(
    target: Target, key: jax.Array, points: jax.Array, centre: jax.Array, budget: int
) -> np.ndarray:
    """Return nearly exact gradients of U at points (n, d).

    Of all rows where the budget allows; else of as many fresh rows for each point as it does, with
    the gradient at the centre as a control variate: unbiased, and of little noise. The budget is of
    gradients of single rows.
    """
    structure = target.structure
    rows = max((plate.size for plate in structure.plates.values()), default=1)
    each = max(budget // len(points), 1)
    if rows <= each:
        found = target.run(_exact, points)
    elif structure.is_random:

        def sampled(view: View, key: jax.Array, points: jax.Array) -> jax.Array:
            def one(inputs: tuple[jax.Array, jax.Array]) -> jax.Array:
                batch = view.many_rows(inputs[1], each)
                return Plain().estimate(view.potential, inputs[0], batch, ())[0].gradient

            return jax.lax.map(one, (points, random.split(key, len(points))))

        found = target.run(sampled, key, points, name=("sampled", each))
    else:
        anchor = Anchor(centre, *target.run(_value_and_grad, centre))

        def controlled(view: View, key: jax.Array, points: jax.Array, anchor: Anchor) -> Any:
            def one(inputs: tuple[jax.Array, jax.Array]) -> jax.Array:
                batch = view.many_rows(inputs[1], each)
                return controlled_estimate(view.potential, inputs[0], batch, anchor).gradient

            return jax.lax.map(one, (points, random.split(key, len(points))))

        found = target.run(controlled, key, points, anchor, name=("controlled", each))
    return np.asarray(found, np.float64)


def _unconstrain(view: View, sites: dict[str, jax.Array]) -> jax.Array:
    structure = view.structure
    key = jax.random.key(0) if structure.needs_key else None
    model = structure.without_discrete(structure.with_minibatch(structure.placeholder(), key))

    def one(draw: dict[str, jax.Array]) -> jax.Array:
        free = unconstrain_fn(model, view.args, view.kwargs, draw)
        return ravel_pytree({name: free[name] for name in structure.prototype})[0]

    return jax.vmap(one)(sites)


def _exact(view: View, points: jax.Array) -> jax.Array:
    def over(batch: Any) -> jax.Array:
        return jax.lax.map(lambda z: jax.grad(view.potential)(z, batch), points)

    return view.over(over)


def _value_and_grad(view: View, position: jax.Array) -> tuple[jax.Array, jax.Array]:
    return view.value_and_grad(position)
