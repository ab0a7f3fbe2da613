"""Detection of improper densities, whose tails are too heavy for a finite integral."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from numpyro_sgmcmc.preparation.start_thresholds import DISTANCES, WIDE, WIDEST
from numpyro_sgmcmc.preparation.target import Target, View
from numpyro_sgmcmc.types import Minibatch


def check_tails(target: Target, centre: jax.Array, scale: jax.Array) -> None:
    """Raise an error if the density decreases no faster than 1 / t along a coordinate.

    A normal approximation of such a density has no bound on its width. The check evaluates U along
    the widest coordinates, at t = 10 to 10^15 on either side of the centre. Every proper prior in
    practical use, however vague, decreases faster than 1 / t within that distance.

    Args:
        target: the model bound to its data.
        centre: centre of a normal approximation, (d,).
        scale: standard deviations of that approximation, (d,).

    Raises:
        ValueError: if there is such a coordinate.
    """
    if isinstance(scale, Tracer):
        return
    widths = np.nan_to_num(np.asarray(scale, np.float64), nan=0.0)
    widest = np.argsort(-widths)[:WIDEST]
    if widths[widest[0]] <= WIDE:
        return
    middle = jnp.where(jnp.isfinite(centre), centre, 0.0)
    found = target.run(_energy_differences, middle, jnp.asarray(widest))
    differences = np.asarray(found, np.float64)
    is_improper = np.any(np.all(differences <= np.log(DISTANCES), axis=2), axis=1)
    if not is_improper.any():
        return
    at = int(widest[np.argmax(is_improper)])
    places = target.structure.by_site(jnp.arange(centre.size))
    site = next(name for name, where in places.items() if bool(jnp.any(where == at)))
    raise ValueError(
        f"Expected a posterior with a finite integral; got a density that does not fall off along"
        f" site {site!r} (no faster than 1 / t, up to t = 1e15 on the unconstrained space). Give"
        f" {site!r} a proper prior, or use it in the likelihood."
    )


def _energy_differences(view: View, centre: jax.Array, widest: jax.Array) -> jax.Array:
    """Return U - U(centre) along coordinates, (coordinates, 2, distances), with inf for NaN."""
    sides = jnp.asarray([1.0, -1.0], centre.dtype)
    steps = sides[:, None] * jnp.asarray(DISTANCES, centre.dtype)
    axes = jnp.zeros((len(widest), centre.size), centre.dtype)
    axes = axes.at[jnp.arange(len(widest)), widest].set(1.0)
    points = centre + steps[None, :, :, None] * axes[:, None, None, :]
    flat = jnp.concatenate([centre[None], points.reshape(-1, centre.size)])

    def energies(batch: Minibatch) -> jax.Array:
        return jax.lax.map(lambda z: view.potential(z, batch), flat)

    found = view.over(energies)
    differences = (found[1:] - found[0]).reshape(points.shape[:-1])
    return jnp.where(jnp.isnan(differences), jnp.inf, differences)
