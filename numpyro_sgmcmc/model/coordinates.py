"""Coordinates of effects between the centred and the non-centred form."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import jax
import jax.numpy as jnp
from numpyro import handlers
from numpyro.distributions.transforms import biject_to

from numpyro_sgmcmc.model.location_scale import location_and_scale, log_scale
from numpyro_sgmcmc.model.scaled import Image


@final
@dataclass(frozen=True, eq=False)
class Coordinates:
    """A change of the coordinates in which effects move.

    An effect z with the prior's location m and scale s has the coordinate

        y = (z - m) / s^(1 - c) + c m,    z = m + s^(1 - c) (y - c m),

    with a weight c between 0 and 1 for each effect (Papaspiliopoulos, Roberts and Sköld 2007, "A
    General Framework for the Parametrization of Hierarchical Models"). c = 1 is the centred form,
    y = z, and c = 0 the non-centred form of `LocScaleReparam`. m and s may depend on any site
    before this one, other effects among them. All other sites keep their unconstrained values.

    Where the model is written non-centred, the site is x, and z = m + s x is an `Image` of it. Then
    y = s^c x + c m, up to the location and the scale of x's own prior.

    Attributes:
        model: the model with some minibatch, on which m and s do not depend.
        args: its positional arguments.
        kwargs: its keyword arguments.
        weights: c by site of effects, with the shape of the site.
        images: the sites that are non-centred, in the order in which the others determine them.
    """

    model: Callable
    args: tuple
    kwargs: dict
    weights: dict[str, jax.Array]
    images: tuple[Image, ...] = ()

    def to_values(self, coordinates: dict[str, jax.Array]) -> tuple[dict[str, Any], jax.Array]:
        """Return unconstrained values by site, and the log volume of this map."""
        values, volumes = dict(coordinates), []
        for image in self.images:
            weight = self.weights[image.site]
            own_location, own_scale, location, scale = image.location_and_scale(values)
            logarithm = weight * log_scale(scale)
            standard = jnp.exp(-logarithm) * (coordinates[image.site] - weight * location)
            values[image.site] = own_location + own_scale * standard
            volumes.append(jnp.sum(jnp.log(own_scale) - logarithm))

        def moved(name: str, location: Any, scale: Any) -> jax.Array:
            weight = self.weights[name]
            logarithm = (1 - weight) * log_scale(scale)
            volumes.append(jnp.sum(logarithm))
            return location + jnp.exp(logarithm) * (coordinates[name] - weight * location)

        values = self._along(values, moved)
        return values, jnp.sum(jnp.stack(volumes))

    def of_values(self, values: dict[str, jax.Array]) -> dict[str, Any]:
        """Return the coordinates of unconstrained values; the inverse of `to_values`."""
        coordinates = dict(values)
        for image in self.images:
            weight = self.weights[image.site]
            own_location, own_scale, location, scale = image.location_and_scale(values)
            standard = (values[image.site] - own_location) / own_scale
            ratio = jnp.exp(weight * log_scale(scale))
            coordinates[image.site] = ratio * standard + weight * location

        def kept(name: str, location: Any, scale: Any) -> jax.Array:
            weight = self.weights[name]
            ratio = jnp.exp(-(1 - weight) * log_scale(scale))
            coordinates[name] = ratio * (values[name] - location) + weight * location
            return values[name]

        self._along(values, kept)
        return coordinates

    def log_scales(self, values: dict[str, jax.Array]) -> dict[str, Any]:
        """Return log s by site of effects, at unconstrained values."""
        scales = {image.site: image.location_and_scale(values)[3] for image in self.images}
        found = {name: log_scale(scale) for name, scale in scales.items()}

        def seen(name: str, location: Any, scale: Any) -> jax.Array:
            found[name] = log_scale(scale)
            return values[name]

        self._along(values, seen)
        return found

    def _along(self, given: dict[str, jax.Array], effect: Callable) -> dict[str, Any]:
        """Return unconstrained values, with those of effects by `effect(name, m, s)`.

        The model runs once, because m and s of one site may depend on the values of others.
        """
        values = dict(given)
        centred = self.weights.keys() - {image.site for image in self.images}
        if not centred:
            return values

        def value_of(site: dict[str, Any]) -> Any:
            name = site["name"]
            if site["type"] != "sample" or name not in given:
                return None
            if name not in centred:
                return biject_to(site["fn"].support)(given[name])
            shape = jnp.shape(given[name])
            parts: Any = location_and_scale(site["fn"])
            values[name] = effect(name, *(jnp.broadcast_to(part, shape) for part in parts))
            return values[name]

        with handlers.block():
            handlers.substitute(self.model, substitute_fn=value_of)(*self.args, **self.kwargs)
        return values
