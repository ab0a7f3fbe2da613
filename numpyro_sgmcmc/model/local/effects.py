"""Latents of rows whose prior has a location or a scale that depends on other latents."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.model.dependence import sources_of
from numpyro_sgmcmc.model.handlers import control_flow_used
from numpyro_sgmcmc.model.local.density import JointPotential
from numpyro_sgmcmc.model.location_scale import unconstrained_prior


class Effect(NamedTuple):
    """A site of latents of rows that can move in other coordinates.

    Attributes:
        site: its name.
        moves_location: whether the location of its prior depends on other latents.
        moves_scale: whether the scale does.
    """

    site: str
    moves_location: bool
    moves_scale: bool


def effects_of_rows(potential: JointPotential) -> list[Effect]:
    """Return the sites of rows whose prior's location or scale depends on other latents.

    There are none in a model with discrete latents of rows, which are moved at given values of the
    continuous ones, or with NumPyro's control flow, inside which sites are traced.
    """
    local = potential.structure.local
    if local.discrete:
        return []
    seen = control_flow_used()

    def parts_of(given: dict[str, jax.Array]) -> dict[str, jax.Array]:
        rows = jnp.arange(1)
        with seen:
            trace = potential.trace(given["z"], given["a"], rows, local.some_discrete(1))[0]
        if seen.any:
            return {}
        found = {name: unconstrained_prior(trace[name]["fn"]) for name in local.names}
        return {
            f"{part} {name}": value
            for name, prior in found.items()
            if prior is not None
            for part, value in (("location", prior.loc), ("scale", prior.scale))
        }

    dtype = jnp.result_type(*jax.tree.leaves(potential.structure.prototype))
    given = jnp.zeros(potential.structure.dimension, dtype), jnp.zeros((1, local.dimension), dtype)
    sources = sources_of(parts_of, dict(zip(("z", "a"), given, strict=True)))
    effects = [
        Effect(name, bool(sources[f"location {name}"]), bool(sources[f"scale {name}"]))
        for name in local.names
        if f"scale {name}" in sources
    ]
    return [effect for effect in effects if effect.moves_location or effect.moves_scale]
