"""The latent sites of a row: their shapes, and how they lie in a vector."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple, final

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.model.local.discrete import DiscreteSite, support_of
from numpyro_sgmcmc.types import Plate

MOST_NUMBERS = 64
"""Largest number of continuous latent numbers of a row, whose covariance is formed for each row."""


class LocalSite(NamedTuple):
    """A continuous latent site in a subsampled plate.

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

    The unconstrained values of a row are a vector (k,), the continuous sites one after the other.
    So are the values themselves, (w,), and the elements of the discrete sites, (m,).

    Attributes:
        plate: name of the plate.
        rows: number N of its rows.
        sites: the continuous sites in the order of the model.
        discrete: the discrete sites in the order of the model.
        move: the user's own move of discrete sites, or None.
    """

    plate: str
    rows: int
    sites: tuple[LocalSite, ...]
    discrete: tuple[DiscreteSite, ...] = ()
    move: Callable | None = None

    @property
    def dimension(self) -> int:
        """The number k of unconstrained numbers of a row."""
        return sum(prod(site.free) for site in self.sites)

    @property
    def width(self) -> int:
        """The number w of numbers in the continuous values of a row."""
        return sum(prod(site.shape) for site in self.sites)

    @property
    def elements(self) -> int:
        """The number m of discrete elements of a row."""
        return sum(site.size for site in self.discrete)

    @property
    def evaluations(self) -> int:
        """How many densities of a row a Gibbs sweep over its discrete elements evaluates."""
        return sum(site.evaluations for site in self.discrete)

    @property
    def moments(self) -> int:
        """How many numbers of a row have a mean and a standard deviation."""
        return self.width + sum(s.size for s in self.discrete if not s.probabilities)

    @property
    def averages(self) -> int:
        """How many numbers of a row are averaged: those with moments, and probabilities."""
        return self.moments + sum(site.probabilities for site in self.discrete)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the sites."""
        return tuple(site.name for site in (*self.sites, *self.discrete))

    def unravel(self, rows: jax.Array) -> dict[str, jax.Array]:
        """Return unconstrained values by site, with the plate's axis, from vectors (rows, k)."""
        found, start = {}, 0
        for site in self.sites:
            part = rows[:, start : start + prod(site.free)]
            start += prod(site.free)
            found[site.name] = jnp.moveaxis(part.reshape(-1, *site.free), 0, site.axis)
        return found

    def ravel(self, values: dict[str, jax.Array]) -> jax.Array:
        """Return continuous values as vectors (rows, w), from arrays with the plate's axis."""
        return _joined([jnp.moveaxis(values[s.name], s.axis, 0) for s in self.sites])

    def ravel_discrete(self, values: dict[str, Any]) -> jax.Array:
        """Return discrete values as vectors (rows, m), int32, from arrays with the plate's axis."""
        parts = [jnp.moveaxis(jnp.asarray(values[s.name]), s.axis, 0) for s in self.discrete]
        return _joined([part.astype(jnp.int32) for part in parts])

    def unravel_discrete(self, rows: jax.Array) -> dict[str, jax.Array]:
        """Return discrete values by site, with the plate's axis, from vectors (rows, m)."""
        return {
            site.name: jnp.moveaxis(part.reshape(-1, *site.shape), 0, site.axis).astype(site.dtype)
            for site, part in self.parts(rows)
        }

    def unravel_values(self, rows: jax.Array) -> dict[str, jax.Array]:
        """Return continuous values by site, with the plate's axis, from vectors (rows, w)."""
        split = self.split(rows)
        return {site.name: jnp.moveaxis(split[site.name], 0, site.axis) for site in self.sites}

    def parts(self, rows: Any) -> list[tuple[DiscreteSite, Any]]:
        """Return the discrete sites, each with its elements (..., rows, size)."""
        found, start = [], 0
        for site in self.discrete:
            found.append((site, rows[..., start : start + site.size]))
            start += site.size
        return found

    def some_discrete(self, rows: int) -> jax.Array:
        """Return arbitrary discrete values of some rows, (rows, m)."""
        first = [value for s in self.discrete for value in [(s.support or (0,))[0]] * s.size]
        return jnp.tile(jnp.asarray(first, jnp.int32), (rows, 1))

    def split(self, rows: Any) -> dict[str, Any]:
        """Return continuous values by site, rows first, from an array (..., rows, w)."""
        found, start = {}, 0
        for site in self.sites:
            part = rows[..., start : start + prod(site.shape)]
            start += prod(site.shape)
            found[site.name] = part.reshape(*rows.shape[:-1], *site.shape)
        return found


def _joined(parts: list[jax.Array]) -> jax.Array:
    return jnp.concatenate([part.reshape(part.shape[0], -1) for part in parts], axis=1)


def local_of(
    latent: dict[str, Any],
    free: dict[str, Any],
    plates: dict[str, Plate],
    kept: dict[str, Any],
    enumerated: tuple[str, ...],
    move: Callable | str | None,
) -> Local | None:
    """Return the latent sites in a subsampled plate; None if there are none.

    Args:
        latent: sites of a trace by name: all continuous latent ones.
        free: their unconstrained values by name.
        plates: the subsampled plates.
        kept: the discrete latent sites that are kept for all rows, by name.
        enumerated: names of the discrete latent sites that are summed out.
        move: the user's move of discrete latents, "gibbs" or None.

    Raises:
        ValueError: if latents of rows are not supported in this model; the message has a remedy.
    """
    inside = {name: site for name, site in latent.items() if _plates_of(site, plates)}
    together = inside | kept
    if not together:
        return None
    first = next(iter(together))
    _check(first, together, latent, plates, enumerated)
    (plate,) = _plates_of(together[first], plates)
    sites, discrete = [], []
    for name, site in inside.items():
        axis = _axis(site, plate)
        shapes = free[name].shape, jnp.shape(site["value"])
        sites.append(LocalSite(name, axis, *(s[:axis] + s[axis + 1 :] for s in shapes)))
    for name, site in kept.items():
        axis, shape = _axis(site, plate), jnp.shape(site["value"])
        support = support_of(site["fn"])
        if support is None and not callable(move):
            raise ValueError(
                f"Expected a known, finite number of values of each element of the discrete site"
                f" {name!r}, which is moved by Gibbs steps; got {type(site['fn']).__name__}. Give"
                " a move of your own, `latent_move`, or truncate them with a `Categorical`."
            )
        own = shape[:axis] + shape[axis + 1 :]
        dtype = str(jnp.result_type(site["value"]))
        discrete.append(DiscreteSite(name, axis, own, dtype, support))
    own_move = move if callable(move) else None
    local = Local(plate, plates[plate].size, tuple(sites), tuple(discrete), own_move)
    if local.dimension > MOST_NUMBERS:
        raise ValueError(
            f"Expected at most {MOST_NUMBERS} continuous latent numbers for each row of the"
            f" subsampled plate {plate!r}; got {local.dimension}. Give rows fewer latents, or use"
            " SVI (`numpyro.infer.SVI`)."
        )
    return local


def _axis(site: dict[str, Any], plate: str) -> int:
    (frame,) = (f for f in site["cond_indep_stack"] if f.name == plate)
    return jnp.ndim(site["value"]) - len(site["fn"].event_shape) + frame.dim


def _check(
    first: str,
    inside: dict[str, Any],
    latent: dict[str, Any],
    plates: dict[str, Plate],
    enumerated: tuple[str, ...],
) -> None:
    index = (
        f" Draw {first!r} in a whole plate (no `subsample_size`) and index it with the minibatch,"
        f" `{first}[i]`, or use SVI (`numpyro.infer.SVI`)."
    )
    if first not in latent:
        index = " Use one plate, or `numpyro.infer.DiscreteHMCGibbs` on all rows."
    if len(plates) > 1:
        raise ValueError(
            f"Expected one subsampled plate in a model with latents of rows; got {first!r} and the"
            f" subsampled plates {', '.join(map(repr, plates))}.{index}"
        )
    if enumerated:
        raise ValueError(
            f"Expected no discrete latent sites outside the subsampled plate in a model with"
            f" latents of rows; got {', '.join(map(repr, enumerated))} outside and {first!r}"
            f" inside. Sum them out in the model, for example with `MixtureSameFamily`.{index}"
        )
    if latent.keys() <= inside.keys():
        raise ValueError(
            "Expected at least one latent site outside the subsampled plate; got"
            f" {', '.join(map(repr, inside))} inside only. The rows are then independent of each"
            " other: sample them without a subsample, with NUTS (`numpyro.infer.NUTS`)."
        )


def _plates_of(site: dict[str, Any], plates: dict[str, Plate]) -> list[str]:
    return [frame.name for frame in site["cond_indep_stack"] if frame.name in plates]
