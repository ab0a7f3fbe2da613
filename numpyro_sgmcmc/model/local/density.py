"""The joint density of shared parameters and of the latents of rows."""

from dataclasses import dataclass
from functools import partial
from typing import Any, final

import jax
import jax.numpy as jnp
from numpyro import handlers
from numpyro.infer.util import _unconstrain_reparam

from numpyro_sgmcmc.model.local.coordinates import (
    Prior,
    in_coordinates,
    prior_of,
    weights_at,
)
from numpyro_sgmcmc.model.local.images import effects_of_images, values_of_images
from numpyro_sgmcmc.types import Minibatch


@final
@dataclass(frozen=True)
class JointPotential:
    """The potential U(z, a) = V(z) + sum over rows i of u_i(z, a_i), and its parts.

    z is the flat position of the shared parameters, (d,), and a_i holds the unconstrained latents
    of row i, (k,), and its discrete ones, (m,). V is -log p(z), and u_i is
    -log p(a_i | z) - log p(y_i | a_i, z); both include the log determinants of the transforms to
    the unconstrained space. The factor N / B of the plate is part of neither. Latents to which the
    structure gives weights are coordinates (`in_coordinates`), and u_i includes the volume of
    their map.

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
        local = self.structure.local
        nothing = jnp.zeros(local.dimension, position.dtype)
        row = jnp.zeros((), jnp.int32)
        return -self._sums(position, nothing, row, local.some_discrete(1)[0])[0]

    def row(
        self,
        position: jax.Array,
        latents: jax.Array,
        row: jax.Array,
        discrete: jax.Array | None = None,
    ) -> tuple[jax.Array, jax.Array]:
        """Return u_i(z, a_i), shape (), and the continuous values of the row's sites, (w,).

        A model without discrete latents of rows needs no values of these.
        """
        _, inside, values = self._sums(position, latents, row, discrete)
        return -inside, values

    def rows(
        self, position: jax.Array, latents: jax.Array, rows: jax.Array, discrete: jax.Array
    ) -> jax.Array:
        """Return the sum of u_i over some rows, computed together.

        Latents are (rows, k) and (rows, m).
        """
        trace, volume = self.trace(position, latents, rows, discrete)
        return -_total(trace, self.structure, inside=True, count=len(rows)) - volume

    def prior(self, position: jax.Array, latents: jax.Array, rows: jax.Array) -> Prior:
        """Return the priors of some rows' continuous latents."""
        local = self.structure.local
        trace, _ = self.trace(position, latents, rows, local.some_discrete(len(rows)))
        weights = weights_at(self.structure.local_weights, rows, local)
        shared, found = self.structure.unravel(position), self.structure.local_images
        effects = effects_of_images(found, shared, rows, local) if found else {}
        return prior_of(trace, weights, {name: x[2:] for name, x in effects.items()}, local)

    def trace(
        self, position: jax.Array, latents: jax.Array, rows: jax.Array, discrete: jax.Array
    ) -> tuple[dict[str, Any], jax.Array]:
        """Return a trace of the model, and the log volume of the latents' coordinates."""
        structure, local = self.structure, self.structure.local
        model = structure.with_minibatch({local.plate: rows}, None)
        shared, volume = structure.unravel(position), jnp.zeros((), position.dtype)
        found, weights = structure.local_images, structure.local_weights
        if found:
            given = weights, shared, latents, rows, local
            latents, volume = values_of_images(found, *given)
            weights = {name: both for name, both in weights.items() if name not in found}
        values = shared | local.unravel(latents)
        value_of, volumes = in_coordinates(values, weights, rows, local)
        bound = handlers.substitute(model, data=local.unravel_discrete(discrete))
        bound = handlers.substitute(bound, substitute_fn=value_of)
        trace = handlers.trace(bound).get_trace(*self.args, **self.kwargs)
        return trace, sum(volumes, volume)

    def drawn(self, key: jax.Array, position: jax.Array, rows: jax.Array) -> jax.Array:
        """Return discrete latents of some rows, drawn from their prior given z, (rows, m)."""
        structure = self.structure
        model = structure.with_minibatch({structure.local.plate: rows}, None)
        shared = partial(_unconstrain_reparam, structure.unravel(position))
        seeded = handlers.seed(handlers.substitute(model, substitute_fn=shared), key)
        trace = handlers.trace(seeded).get_trace(*self.args, **self.kwargs)
        sites = structure.local.discrete
        return structure.local.ravel_discrete({s.name: trace[s.name]["value"] for s in sites})

    def __call__(self, position: jax.Array, minibatch: Minibatch) -> jax.Array:
        """Refuse to return a potential of the shared parameters alone."""
        raise TypeError(
            "Expected a potential of the shared parameters; got a model with latents of rows, whose"
            " potential also depends on them."
        )

    def _sums(
        self, position: jax.Array, latents: jax.Array, row: jax.Array, discrete: jax.Array | None
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        local = self.structure.local
        assert discrete is not None or not local.discrete
        some = local.some_discrete(1) if discrete is None else discrete[None]
        trace, volume = self.trace(position, latents[None], row[None], some)
        outside = _total(trace, self.structure, inside=False, count=1)
        inside = _total(trace, self.structure, inside=True, count=1) + volume
        if not local.sites:
            return outside, inside, latents
        values = local.ravel({site.name: trace[site.name]["value"] for site in local.sites})[0]
        return outside, inside, values


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
