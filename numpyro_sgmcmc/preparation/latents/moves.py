"""A check of the values that a user's own move of latents returns."""

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.latents import redrawn
from numpyro_sgmcmc.preparation.latents.potential import potential_of
from numpyro_sgmcmc.preparation.target import Target, View


def check_move(
    target: Target, key: jax.Array, position: jax.Array, discrete: jax.Array, rows: jax.Array
) -> None:
    """Raise an error if the user's move returns values outside the support of a site.

    It is tried on as many of these rows as a minibatch has. Whether it leaves the conditional
    distribution of the latents as it is cannot be seen from its values.

    Raises:
        TypeError: if it returns no dict, or values of another type.
        ValueError: if it returns other sites, shapes or values, or if the density becomes infinite
            where it was finite.
    """
    local = target.structure.local
    assert local is not None
    if local.move is None:
        return
    plate = target.structure.plates[local.plate]
    some = position, discrete[: plate.subsample_size], rows[: plate.subsample_size]
    moved, before, after = (np.asarray(x) for x in target.run(_tried, key, *some))
    for site, part in local.parts(moved):
        if site.support is not None and not np.isin(part, site.support).all():
            wrong = part[~np.isin(part, site.support)][0]
            raise ValueError(
                f"Expected `latent_move` to return values of the discrete site {site.name!r} in its"
                f" support, {_few(site.support)}; got {wrong}."
            )
    if (np.isfinite(before) & ~np.isfinite(after)).any():
        raise ValueError(
            "Expected `latent_move` to return values at which the density is finite; got rows whose"
            " density was finite before the move only. A move must leave the distribution of the"
            " latents given the shared parameters and the data as it is."
        )


def _tried(
    view: View, key: jax.Array, position: jax.Array, discrete: jax.Array, rows: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    local = view.structure.local
    assert local is not None
    potential = potential_of(view)
    latents = jnp.zeros((len(rows), local.dimension), position.dtype)
    energy = jax.vmap(lambda *row: potential.row(position, *row)[0])
    moved = redrawn(potential, position, latents, discrete, rows, key)
    return moved, energy(latents, rows, discrete), energy(latents, rows, moved)


def _few(support: tuple[int, ...]) -> str:
    return str(list(support)) if len(support) < 9 else f"{support[0]} ... {support[-1]}"
