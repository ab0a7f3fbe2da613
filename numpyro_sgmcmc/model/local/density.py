"""The joint density of shared parameters and of the latents of rows."""

from dataclasses import dataclass
from functools import partial
from typing import Any, final

import jax
import jax.numpy as jnp
from numpyro import handlers
from numpyro.infer.util import _unconstrain_reparam

from numpyro_sgmcmc.types import Minibatch


@final
@dataclass(frozen=True)
class JointPotential:
    """The potential U(z, a) = V(z) + sum over rows i of u_i(z, a_i), and its parts.

    z is the flat position of the shared parameters, (d,), and a_i holds the unconstrained latents
    of row i, (k,). V is -log p(z), and u_i is -log p(a_i | z) - log p(y_i | a_i, z); both include
    the log determinants of the transforms to the unconstrained space. The factor N / B of the plate
    is part of neither.

    Args:
        structure: structure of a model with latents of rows.
        args: its positional arguments, JAX arrays.
        kwargs: its keyword arguments.
    """

    structure: Any
    args: tuple
    kwargs: dict

    def shared(self, position: jax.Array) -> jax.Array:
        """Return V(z), shape ()."""
        nothing = jnp.zeros(self.structure.local.dimension, position.dtype)
        return -self._sums(position, nothing, jnp.zeros((), jnp.int32))[0]

    def row(
        self, position: jax.Array, latents: jax.Array, row: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """Return u_i(z, a_i), shape (), and the values of the row's sites, (w,)."""
        _, inside, values = self._sums(position, latents, row)
        return -inside, values

    def rows(self, position: jax.Array, latents: jax.Array, rows: jax.Array) -> jax.Array:
        """Return the sum of u_i over some rows, computed together; latents are (rows, k)."""
        trace = self._trace(position, latents, rows)
        return -_total(trace, self.structure, inside=True, count=len(rows))

    def __call__(self, position: jax.Array, minibatch: Minibatch) -> jax.Array:
        """Refuse to return a potential of the shared parameters alone."""
        raise TypeError(
            "Expected a potential of the shared parameters; got a model with latents of rows, whose"
            " potential also depends on them."
        )

    def _sums(
        self, position: jax.Array, latents: jax.Array, row: jax.Array
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        local = self.structure.local
        trace = self._trace(position, latents[None], row[None])
        outside = _total(trace, self.structure, inside=False, count=1)
        inside = _total(trace, self.structure, inside=True, count=1)
        values = local.ravel({name: trace[name]["value"] for name in local.names})[0]
        return outside, inside, values

    def _trace(self, position: jax.Array, latents: jax.Array, rows: jax.Array) -> dict[str, Any]:
        structure = self.structure
        model = structure.with_minibatch({structure.local.plate: rows}, None)
        values = structure.unravel(position) | structure.local.unravel(latents)
        bound = handlers.substitute(model, substitute_fn=partial(_unconstrain_reparam, values))
        return handlers.trace(bound).get_trace(*self.args, **self.kwargs)


def _total(trace: dict[str, Any], structure: Any, inside: bool, count: int) -> jax.Array:
    """Return the log density of the sites inside or outside the plate, without its scale."""
    local = structure.local
    total = jnp.zeros(())
    for site in trace.values():
        if site["type"] != "sample":
            continue
        if inside != any(frame.name == local.plate for frame in site["cond_indep_stack"]):
            continue
        fn, extra = site["fn"], site["intermediates"]
        density = fn.log_prob(site["value"], extra) if extra else fn.log_prob(site["value"])
        if site["scale"] is not None:
            own = local.rows / count if inside else 1.0
            density = density * (site["scale"] / own)
        total = total + jnp.sum(density)
    return total
