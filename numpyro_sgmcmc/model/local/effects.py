"""Latents of rows whose prior has a location or a scale that depends on other latents."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.model.dependence import sources_of
from numpyro_sgmcmc.model.handlers import control_flow_used
from numpyro_sgmcmc.model.local.density import JointPotential
from numpyro_sgmcmc.model.local.images import effects_of_images, usable_images
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

    Also those of which the model makes m + s x, for the location m and the scale s of that effect.
    There are none in a model with discrete latents of rows, which are moved at given values of the
    continuous ones, or with NumPyro's control flow, inside which sites are traced.
    """
    structure = potential.structure
    local, dtype = structure.local, jnp.result_type(*jax.tree.leaves(structure.prototype))
    if local.discrete:
        return []
    seen, row = control_flow_used(), jnp.arange(1)

    def of_priors(given: dict[str, jax.Array]) -> dict[str, jax.Array]:
        with seen:
            trace = potential.trace(given["z"], given["a"], row, local.some_discrete(1))[0]
        found = {name: unconstrained_prior(trace[name]["fn"]) for name in local.names}
        return _named({name: (p.loc, p.scale) for name, p in found.items() if p is not None})

    z, a = jnp.zeros(structure.dimension, dtype), jnp.zeros((1, local.dimension), dtype)
    sources = sources_of(of_priors, {"z": z, "a": a})
    if seen.any:
        return []
    written = usable_images(structure, potential.args, potential.kwargs)

    def of_images(given: dict[str, jax.Array]) -> dict[str, jax.Array]:
        shown = effects_of_images(written, structure.unravel(given["z"]), row, local)
        return _named({name: parts[2:] for name, parts in shown.items()})

    if written:
        sources |= sources_of(of_images, {"z": z})
    effects = [
        Effect(name, bool(sources[f"location {name}"]), bool(sources[f"scale {name}"]))
        for name in local.names
        if f"scale {name}" in sources
    ]
    return [effect for effect in effects if effect.moves_location or effect.moves_scale]


def _named(parts: dict[str, tuple[jax.Array, ...]]) -> dict[str, jax.Array]:
    """Return locations and scales by what they are and the name of their site."""
    return {
        f"{part} {name}": value
        for name, both in parts.items()
        for part, value in zip(("location", "scale"), both, strict=True)
    }
