"""The draws of a finished run where the kernel made them: flat and unconstrained."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.infer.util import unconstrain_fn

from numpyro_sgmcmc.preparation import Target, View


def unconstrained(target: Target, sites: dict[str, Any]) -> np.ndarray:
    """Return constrained draws, leading shape (n,), as flat positions (n, d)."""
    wanted = {name: jnp.asarray(sites[name]) for name in target.structure.prototype}
    return np.asarray(target.run(_unconstrain, wanted), np.float64)


def _unconstrain(view: View, sites: dict[str, jax.Array]) -> jax.Array:
    structure = view.structure
    key = jax.random.key(0) if structure.needs_key else None
    model = structure.without_discrete(structure.with_minibatch(structure.placeholder(), key))

    def one(draw: dict[str, jax.Array]) -> jax.Array:
        free = unconstrain_fn(model, view.args, view.kwargs, draw)
        return structure.ravel({name: free[name] for name in structure.prototype})

    return jax.vmap(one)(sites)
