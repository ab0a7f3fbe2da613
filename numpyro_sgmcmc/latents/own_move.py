"""A user's own move of the discrete latents of rows."""

from typing import Any

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.model.local import JointPotential, Local

SIGNATURE = "`move(rng_key, gibbs_sites, hmc_sites, rows)`"


def own_moved(
    potential: JointPotential,
    position: jax.Array,
    latents: jax.Array,
    discrete: jax.Array,
    rows: jax.Array,
    key: jax.Array,
) -> tuple[jax.Array, frozenset[str]]:
    """Return discrete latents of rows after the user's move, and the names of the moved sites.

    The move is called with the values of NumPyro's `HMCGibbs`, and with the numbers of the rows.

    Raises:
        TypeError: if it does not return a dict, or values of another type.
        ValueError: if it returns a site that it may not move, values of another shape, or none of
            a site that cannot be moved by Gibbs steps.
    """
    local, structure = potential.structure.local, potential.structure
    given = local.unravel_discrete(discrete)
    values = jax.vmap(lambda a, i, s: potential.row(position, a, i, s)[1])(latents, rows, discrete)
    sites = given | local.unravel_values(values)
    shared = structure.constrain(structure.unravel(position), potential.args, potential.kwargs)
    found = local.move(rng_key=key, gibbs_sites=sites, hmc_sites=shared, rows=rows)
    if not isinstance(found, dict):
        raise TypeError(
            f"Expected {SIGNATURE} of `latent_move` to return a dict of new values by site; got"
            f" {type(found).__name__}."
        )
    _check_names(found, local)
    for name, value in found.items():
        _check_value(name, value, given[name])
    moved = local.ravel_discrete(given | {n: jnp.asarray(value) for n, value in found.items()})
    return moved, frozenset(found)


def _check_names(found: dict[str, Any], local: Local) -> None:
    may = [site.name for site in local.discrete]
    for name in found:
        if name not in may:
            reason = "which the kernel moves itself" if name in local.names else "an unknown one"
            raise ValueError(
                f"Expected `latent_move` to return values of discrete sites of rows, among {may};"
                f" got {name!r}, {reason}. Leave it out of the dict."
            )
    for site in local.discrete:
        if site.support is None and site.name not in found:
            raise ValueError(
                f"Expected `latent_move` to return values of the discrete site {site.name!r}, which"
                " has no known, finite set of values and so cannot be moved by Gibbs steps; got"
                f" values of {sorted(found)}. Move it too, or truncate it with a `Categorical`."
            )


def _check_value(name: str, value: Any, before: jax.Array) -> None:
    shape, kind = jnp.shape(value), jnp.result_type(value)
    if shape != before.shape:
        raise ValueError(
            f"Expected `latent_move` to return values of site {name!r} of shape {before.shape}, as"
            f" in `gibbs_sites`; got {shape}. Return a value for each of `rows`, in their order."
        )
    if not (jnp.issubdtype(kind, jnp.integer) or kind == jnp.bool_):
        raise TypeError(
            f"Expected `latent_move` to return integers for the discrete site {name!r}"
            f" ({before.dtype}); got {kind}. Use `.astype({before.dtype})`."
        )
