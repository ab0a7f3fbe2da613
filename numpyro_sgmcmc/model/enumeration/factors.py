"""The log densities of an enumerated model's sites, as arrays with named axes."""

from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.model.enumeration.sites import Enumeration, plates_of
from numpyro_sgmcmc.types import Plate

Trace: TypeAlias = dict[str, Any]
"""A NumPyro trace: sites by name."""


class Factor(NamedTuple):
    """The log density of one site of a model whose discrete sites have all their states.

    Attributes:
        site: name of the site.
        is_observed: whether the site is an observation, and no `factor`.
        values: log densities, with an axis for each discrete site and then for each plate; plain
            batch dimensions come last.
        variables: the discrete sites that it depends on.
        plates: the plates that the site is in, from left to right.
        rest: number of batch dimensions without a plate.
        scale: the product of N / B over its subsampled plates.
    """

    site: str
    is_observed: bool
    values: jax.Array
    variables: tuple[str, ...]
    plates: tuple[str, ...]
    rest: int
    scale: float


def factors_of(
    trace: Trace, enumeration: Enumeration, plates: dict[str, Plate], observed: tuple[str, ...]
) -> list[Factor]:
    """Return the factors of the density, without the scales of subsampled plates.

    A scale that a user's `handlers.scale` sets is part of the log densities, as in NUTS.

    Args:
        trace: of the model under `enumerated`.
        enumeration: its discrete latent sites.
        plates: its subsampled plates.
        observed: names of its observed sites.
    """
    found = []
    for name, site in trace.items():
        if site["type"] == "sample":
            found.append(_factor(name, site, enumeration, plates, name in observed))
    return found


def _factor(
    name: str,
    site: dict[str, Any],
    enumeration: Enumeration,
    plates: dict[str, Plate],
    is_observed: bool,
) -> Factor:
    fn, extra = site["fn"], site["intermediates"]
    density = fn.log_prob(site["value"], extra) if extra else fn.log_prob(site["value"])
    values = jnp.asarray(density)
    # A frame's size is the number of rows in the minibatch.
    scale = 1.0
    for frame in site["cond_indep_stack"]:
        if frame.name in plates:
            scale *= plates[frame.name].size / frame.size
    if site["scale"] is not None:
        values = values * jnp.asarray(site["scale"] / scale, values.dtype)
    sizes = {frame.dim: frame.size for frame in site["cond_indep_stack"]}
    names = plates_of(site)
    of_axis = {(dim, len(enumeration.support[v])): v for v, dim in enumeration.dims.items()}
    shape = values.shape
    reach = max([values.ndim, *(-dim for dim in sizes)])
    values = values.reshape((1,) * (reach - values.ndim) + shape)
    full = [sizes.get(k - reach, size) for k, size in enumerate(values.shape)]
    values = jnp.broadcast_to(values, full)
    axes = {k - reach: k for k in range(reach)}
    variables = [
        (of_axis[d, full[k]], k) for d, k in axes.items() if (d, full[k]) in of_axis and full[k] > 1
    ]
    own = [axes[dim] for dim in sorted(sizes)]
    taken = {k for _, k in variables} | set(own)
    rest = [k for k in range(reach) if k not in taken and full[k] > 1]
    single = tuple(k for k in range(reach) if k not in taken and full[k] == 1)
    order = [k for _, k in variables] + own + rest
    kept = jnp.squeeze(jnp.transpose(values, (*single, *order)), tuple(range(len(single))))
    return Factor(name, is_observed, kept, tuple(v for v, _ in variables), names, len(rest), scale)
