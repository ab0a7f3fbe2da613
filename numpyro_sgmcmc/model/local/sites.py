"""The latent sites of a row: their shapes, and how they lie in a vector."""

from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple, final

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.types import Plate

MOST_NUMBERS = 64
"""Largest number of latent numbers of a row, whose covariance is formed for each row."""


class LocalSite(NamedTuple):
    """A latent site in a subsampled plate.

    Attributes:
        name: its name.
        axis: the axis of the plate in its values, from the left.
        free: shape of a row's unconstrained value.
        shape: shape of a row's value.
    """

    name: str
    axis: int
    free: tuple[int, ...]
    shape: tuple[int, ...]


@final
@dataclass(frozen=True)
class Local:
    """The latent sites of the rows of a subsampled plate.

    The unconstrained values of a row are a vector (k,), the sites one after the other. So are the
    values themselves, (w,).

    Attributes:
        plate: name of the plate.
        rows: number N of its rows.
        sites: the sites in the order of the model.
    """

    plate: str
    rows: int
    sites: tuple[LocalSite, ...]

    @property
    def dimension(self) -> int:
        """The number k of unconstrained numbers of a row."""
        return sum(prod(site.free) for site in self.sites)

    @property
    def width(self) -> int:
        """The number w of numbers in the values of a row."""
        return sum(prod(site.shape) for site in self.sites)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the sites."""
        return tuple(site.name for site in self.sites)

    def unravel(self, rows: jax.Array) -> dict[str, jax.Array]:
        """Return unconstrained values by site, with the plate's axis, from vectors (rows, k)."""
        found, start = {}, 0
        for site in self.sites:
            part = rows[:, start : start + prod(site.free)]
            start += prod(site.free)
            found[site.name] = jnp.moveaxis(part.reshape(-1, *site.free), 0, site.axis)
        return found

    def ravel(self, values: dict[str, jax.Array]) -> jax.Array:
        """Return the values of rows as vectors (rows, w), from arrays with the plate's axis."""
        parts = [jnp.moveaxis(values[site.name], site.axis, 0) for site in self.sites]
        return jnp.concatenate([part.reshape(part.shape[0], -1) for part in parts], axis=1)

    def split(self, rows: Any) -> dict[str, Any]:
        """Return values by site, rows first, from an array (..., rows, w) of vectors of values."""
        found, start = {}, 0
        for site in self.sites:
            part = rows[..., start : start + prod(site.shape)]
            start += prod(site.shape)
            found[site.name] = part.reshape(*rows.shape[:-1], *site.shape)
        return found


def local_of(
    latent: dict[str, Any], free: dict[str, Any], plates: dict[str, Plate], discrete: bool
) -> Local | None:
    """Return the latent sites in a subsampled plate; None if there are none.

    Args:
        latent: sites of a trace by name: all continuous latent ones.
        free: their unconstrained values by name.
        plates: the subsampled plates.
        discrete: whether the model has discrete latent sites.

    Raises:
        ValueError: if latents of rows are not supported in this model; the message has a remedy.
    """
    inside = {name: site for name, site in latent.items() if _plates_of(site, plates)}
    if not inside:
        return None
    first = next(iter(inside))
    _check(first, inside, latent, plates, discrete)
    (plate,) = _plates_of(inside[first], plates)
    sites = []
    for name, site in inside.items():
        (frame,) = (f for f in site["cond_indep_stack"] if f.name == plate)
        value, event = site["value"], len(site["fn"].event_shape)
        axis = jnp.ndim(value) - event + frame.dim
        shapes = free[name].shape, jnp.shape(value)
        sites.append(LocalSite(name, axis, *(s[:axis] + s[axis + 1 :] for s in shapes)))
    local = Local(plate, plates[plate].size, tuple(sites))
    if local.dimension > MOST_NUMBERS:
        raise ValueError(
            f"Expected at most {MOST_NUMBERS} latent numbers for each row of the subsampled plate"
            f" {plate!r}; got {local.dimension}. Give rows fewer latents, or use SVI"
            " (`numpyro.infer.SVI`)."
        )
    return local


def _check(
    first: str,
    inside: dict[str, Any],
    latent: dict[str, Any],
    plates: dict[str, Plate],
    discrete: bool,
) -> None:
    index = (
        f" Draw {first!r} in a whole plate (no `subsample_size`) and index it with the minibatch,"
        f" `{first}[i]`, or use SVI (`numpyro.infer.SVI`)."
    )
    if len(plates) > 1:
        raise ValueError(
            f"Expected one subsampled plate in a model with latents of rows; got {first!r} and the"
            f" subsampled plates {', '.join(map(repr, plates))}.{index}"
        )
    if discrete:
        raise ValueError(
            f"Expected no discrete latent sites in a model with latents of rows; got {first!r} in"
            f" the subsampled plate beside discrete ones. Sum these out in the model, for example"
            f" with `MixtureSameFamily`.{index}"
        )
    if len(inside) == len(latent):
        raise ValueError(
            "Expected at least one latent site outside the subsampled plate; got"
            f" {', '.join(map(repr, inside))} inside only. The rows are then independent of each"
            " other: sample them without a subsample, with NUTS (`numpyro.infer.NUTS`)."
        )


def _plates_of(site: dict[str, Any], plates: dict[str, Plate]) -> list[str]:
    return [frame.name for frame in site["cond_indep_stack"] if frame.name in plates]
