"""The structure of a NumPyro model: its latent sites, its plates and their dependence."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, final

import jax
import jax.numpy as jnp
import numpy as np
from numpyro import handlers
from numpyro.distributions.transforms import Transform
from numpyro.infer.util import constrain_fn

from numpyro_sgmcmc.model.arguments import as_jax_arrays
from numpyro_sgmcmc.model.coordinates import Coordinates
from numpyro_sgmcmc.model.enumeration import Enumeration, enumerated
from numpyro_sgmcmc.model.flat import Flat
from numpyro_sgmcmc.model.handlers import with_minibatch
from numpyro_sgmcmc.model.local import Local, images_of_rows
from numpyro_sgmcmc.model.scaled import Image, images
from numpyro_sgmcmc.types import Plate


@final
@dataclass(frozen=True, eq=False)
class Structure:
    """The static properties of a model, read from one trace.

    Attributes:
        model: the user's model.
        fixed: values of `param` and `mutable` sites, which are not sampled.
        prototype: an unconstrained value of each latent site, by name; latents of rows are not
            among them.
        flat: maps between unconstrained values by site name and a flat position (d,).
        plates: the subsampled plates by name.
        groups: names of the plates, grouped so that plates that share a site are in one group.
        is_random: whether the density itself draws random numbers.
        enumeration: the discrete latent sites that are summed out.
        local: the latent sites in the subsampled plate, or None.
        minibatch_sites: deterministic sites that depend on the minibatch, on random numbers, on
            discrete latent sites or on latents of rows.
        costly_sites: deterministic sites whose value at a draw takes a pass over the data.
        observed: names of the observed sites, without `factor` sites.
        bounded: latent sites whose constrained values can overflow although the position is finite.
        dims: names of the dimensions of each site's value, from plates and `event_dims`.
        transforms: maps from unconstrained to constrained values by latent site, if they are the
            same at every position and the draws have no deterministic sites; else None.
        coordinates: the coordinates in which effects move; None if they are their values.
        local_weights: weights of the coordinates in which latents of rows move, by site and row;
            see `in_coordinates`. Those of other sites are their values.
        local_images: of latents of rows with weights, those that the model writes non-centred.
    """

    model: Callable
    fixed: dict[str, Any]
    prototype: dict[str, Any]
    flat: Flat
    plates: dict[str, Plate]
    groups: tuple[tuple[str, ...], ...]
    is_random: bool
    enumeration: Enumeration
    local: Local | None
    minibatch_sites: frozenset[str]
    costly_sites: frozenset[str]
    observed: tuple[str, ...]
    bounded: tuple[str, ...]
    dims: dict[str, list[str | None]]
    transforms: dict[str, Transform] | None
    coordinates: Coordinates | None = None
    local_weights: dict[str, jax.Array] = field(default_factory=dict)
    local_images: dict[str, Image] = field(default_factory=dict)

    @property
    def dimension(self) -> int:
        """The number d of unconstrained parameters."""
        return sum(value.size for value in self.prototype.values())

    @property
    def needs_key(self) -> bool:
        """Whether minibatches come with a key, for random densities or for moves of latents."""
        return self.is_random or self.local is not None

    def partly_centred(
        self, weights: dict[str, jax.Array] | None, args: tuple, kwargs: dict
    ) -> "Structure":
        """Return the structure whose effects move in other `Coordinates`; itself without weights.

        Args:
            weights: by site, of effects as in `Coordinates`, or of latents of rows as in
                `in_coordinates`.
            args: the model's positional arguments.
            kwargs: its keyword arguments.
        """
        if weights is None:
            return self
        of_rows = () if self.local is None else self.local.names
        if of_rows:
            assert weights.keys() <= set(of_rows), "Effects of whole plates keep their values."
            found = images_of_rows(self, *as_jax_arrays(args, kwargs))
            moved = {name: image for name, image in found.items() if name in weights}
            return replace(self, local_weights=weights, local_images=moved)
        args, kwargs = as_jax_arrays(args, kwargs)
        model = self.with_minibatch(self.placeholder(), None)
        non_centred = tuple(one for one in self.images(args, kwargs) if one.site in weights)
        moved = Coordinates(model, args, kwargs, weights, non_centred)
        return replace(self, coordinates=moved)

    def images(self, args: tuple, kwargs: dict) -> list[Image]:
        """Return the sites of effects that are non-centred; see `scaled.images`."""
        args, kwargs = as_jax_arrays(args, kwargs)
        model = partial(self.with_minibatch, key=None)
        return images(model, self.prototype, self.placeholder(), args, kwargs)

    def ravel(self, values: dict[str, jax.Array]) -> jax.Array:
        """Return unconstrained values by site name as a flat position (d,)."""
        coordinates = self.coordinates
        return self.flat.ravel(values if coordinates is None else coordinates.of_values(values))

    def unravel(self, position: jax.Array) -> dict[str, jax.Array]:
        """Return a flat position as unconstrained values by site name."""
        return self.placed(position)[0]

    def placed(self, position: jax.Array) -> tuple[dict[str, jax.Array], jax.Array | float]:
        """Return unconstrained values by site name, and log |d values / d position|."""
        values = self.by_site(position)
        return (values, 0.0) if self.coordinates is None else self.coordinates.to_values(values)

    def by_site(self, vector: jax.Array) -> dict[str, jax.Array]:
        """Return the entries of a vector (d,), such as a gradient, by site name."""
        return self.flat.unravel(vector)

    def sites(self) -> np.ndarray:
        """Return the name of the site of each entry of a flat position, (d,)."""
        names = np.array(sorted(self.prototype), object)  # JAX flattens a dict in this order.
        return np.repeat(names, [self.prototype[name].size for name in names])

    def is_like(self, other: "Structure") -> bool:
        """Return whether programs compiled for this structure are valid for the other one.

        They are not if values of `param` or `mutable` sites are part of them.
        """
        if self.fixed or other.fixed or self.model is not other.model:
            return False
        if not self.enumeration.is_like(other.enumeration):
            return False
        mine, theirs = (
            [
                {name: (z.shape, z.dtype) for name, z in s.prototype.items()},
                *(s.plates, s.groups, s.is_random, s.local, s.minibatch_sites, s.costly_sites),
                *(s.observed, s.bounded, s.dims, jax.tree.structure(s.transforms)),
                [np.asarray(leaf).tolist() for leaf in jax.tree.leaves(s.transforms)],
            ]
            for s in (self, other)
        )
        return mine == theirs

    def with_minibatch(self, indices: dict[str, Any], key: jax.Array | None) -> Callable:
        """Return the model with a minibatch, a key if it asks for one, and all discrete states."""
        model = with_minibatch(self.model, self.fixed, indices, key)
        return enumerated(model, self.enumeration) if self.enumeration.dims else model

    def without_discrete(self, model: Callable) -> Callable:
        """Return the model with a minibatch whose discrete latents of rows have arbitrary values.

        For NumPyro's functions of continuous sites, which would refuse or enumerate the others.
        """
        local = self.local
        if local is None or not local.discrete:
            return model
        some = local.some_discrete(self.plates[local.plate].subsample_size)
        values: Any = local.unravel_discrete(some)
        return handlers.condition(model, data=values)

    def placeholder(self) -> dict[str, jax.Array]:
        """Return an arbitrary minibatch, for computations that do not depend on its rows."""
        return {name: jnp.arange(plate.subsample_size) for name, plate in self.plates.items()}

    def constrain(
        self, position: dict[str, jax.Array], args: tuple, kwargs: dict
    ) -> dict[str, jax.Array]:
        """Return one draw's constrained latent sites and its deterministic sites.

        Deterministic sites that depend on the minibatch or on discrete latent sites are left out,
        because their values are not defined by the draw. Those that take a pass over the data are
        left out because of its cost.
        """
        if self.transforms is not None:
            return {name: jnp.asarray(self.transforms[name](z)) for name, z in position.items()}
        args, kwargs = as_jax_arrays(args, kwargs)
        key = jax.random.key(0) if self.is_random else None
        model, dropped = self.with_minibatch(self.placeholder(), key), set()
        if self.local is not None:
            batch = self.plates[self.local.plate].subsample_size
            arbitrary = self.local.unravel(jnp.zeros((batch, self.local.dimension)))
            position, dropped = position | arbitrary, set(self.local.names)
            model = self.without_discrete(model)
        sites = constrain_fn(model, args, kwargs, position, return_deterministic=True)
        dropped |= self.minibatch_sites | self.costly_sites
        return {name: value for name, value in sites.items() if name not in dropped}

    def can_be_constrained(
        self, position: dict[str, jax.Array], args: tuple, kwargs: dict
    ) -> jax.Array:
        """Return whether the constrained values are finite (exp(100) is not in float32)."""
        if not self.bounded:
            return jnp.ones((), bool)
        sites = self.constrain(position, args, kwargs)
        return jnp.all(jnp.stack([jnp.all(jnp.isfinite(sites[name])) for name in self.bounded]))
