"""What a posterior says of single rows: a scale and a time that no symmetry of parameters hides."""

from math import log, sqrt
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.preparation.target import Target, View
from numpyro_sgmcmc.preparation.thresholds import LEAST_CORRELATION, LOOKED_AT, SLOW
from numpyro_sgmcmc.preparation.windows import Seen
from numpyro_sgmcmc.types import Minibatch


class RowTime(NamedTuple):
    """Integrated autocorrelation time of log likelihoods of slow rows.

    Attributes:
        time: in transitions; an upper bound if it is not known.
        is_known: whether it is not too short to be seen.
    """

    time: float
    is_known: bool


def row_energies(view: View, points: jax.Array, key: jax.Array, most: int) -> jax.Array:
    """Return -log p(y_i) of at most `most` rows i, less their mean, (points, rows).

    U estimated from row i alone is -N log p(y_i) - log prior. Its deviation from the mean over
    rows does not depend on the prior.

    Args:
        view: a model with one subsampled plate.
        points: positions, (points, d).
        key: chooses the rows.
        most: number of rows, if there are more.
    """
    ((name, plate),) = view.plates.items()
    rows = view.many_rows(key, most).indices[name]

    def energies(position: jax.Array) -> jax.Array:
        each = jax.vmap(lambda row: view.potential(position, Minibatch({name: row[None]})))(rows)
        return (each - each.mean()) / plate.size

    return jax.lax.map(energies, points)


def effective_parameters(view: View, points: jax.Array, key: jax.Array) -> jax.Array:
    """Return the sum over all rows of the variance of log p(y_i) over the positions (points, d).

    It is the effective number of parameters of Watanabe (2010, JMLR 11), less the part that all
    rows have in common, because each log p(y_i) is taken as its deviation from the mean over rows.
    """
    ((_, plate),) = view.plates.items()
    found = row_energies(view, points, key, LOOKED_AT)
    return plate.size * jnp.mean(jnp.var(found, axis=0, ddof=1))


def time_of_rows(target: Target, key: jax.Array, seen: Seen) -> RowTime | None:
    """Return the time of slow rows in a window; None if its walkers show nothing.

    The autocorrelation r of neighbouring snapshots, D transitions apart, is estimated for each row
    from n pairs of all walkers, with the variance (1 - r^2) / n. What exceeds it in the variance of
    the estimates is the rows' own. r at the 0.9 quantile of the rows' distribution, if that is
    normal, gives the integrated time t by exp(-2 D / t) = r.
    """
    count, walkers, dimension = seen.snapshots.shape
    points = seen.snapshots.reshape(-1, dimension)

    def measure(view: View, points: jax.Array, key: jax.Array) -> jax.Array:
        return row_energies(view, points, key, LOOKED_AT)

    energies = target.run(measure, points, key, name="row energies", optimise=False)
    found = np.asarray(energies, np.float64)
    away = (found - found.mean(0)).reshape(count, walkers, -1)
    total = np.mean(away**2, axis=(0, 1))
    if not np.all(np.isfinite(total)) or not np.any(total > 0):
        return None
    moves = total > 0
    each = np.mean(away[1:] * away[:-1], axis=(0, 1))[moves] / total[moves]
    chance = (1 - each.mean() ** 2) / ((count - 1) * walkers)
    r = each.mean() + SLOW * sqrt(max(each.var() - chance, 0.0))
    lag = int(seen.length) / count
    seen_at = min(max(r, LEAST_CORRELATION), 1 - LEAST_CORRELATION / 10)
    return RowTime(2 * lag / -log(seen_at), bool(r > LEAST_CORRELATION))
