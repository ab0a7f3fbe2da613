"""Ratings of films, real and simulated, and the factorisation of Durmus et al. (2016), section 5.2.

X_ij ~ N(sum_p W_ip H_pj, 1), W_ip and H_pj ~ N(0, 1). Ratings are minus the mean of those to fit.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from benchmarks.calibration.data.arrays import frame

RANK = 10
BLOCK = 1_000_000
"""Ratings whose rows of W and H are gathered together."""


class Films(NamedTuple):
    """Ratings to fit and to predict, in random order.

    Attributes:
        film: number of the film of each rating to fit, (N,).
        user: of the user.
        rating: minus the mean of these.
        test_film: of each rating to predict, (T,).
        test_user: likewise.
        test_rating: minus the same mean.
        shape: number of films, and of users.
        rank: columns of W and of H.
        noiseless: what the simulated test ratings are without their noise; None of real ratings.
    """

    film: np.ndarray
    user: np.ndarray
    rating: np.ndarray
    test_film: np.ndarray
    test_user: np.ndarray
    test_rating: np.ndarray
    shape: tuple[int, int]
    rank: int
    noiseless: np.ndarray | None

    @property
    def dimension(self) -> int:
        """Return the number of entries of W and H."""
        return self.rank * sum(self.shape)

    def error(self, prediction: np.ndarray) -> np.ndarray:
        """Return the root mean squared error of predictions, (..., T)."""
        return np.sqrt(np.mean((prediction - self.test_rating) ** 2, axis=-1))


def model(
    film: jax.Array,
    user: jax.Array,
    rating: jax.Array,
    films: int,
    users: int,
    rank: int,
    batch: int,
) -> None:
    """The NumPyro model."""
    entry = dist.Normal(0.0, 1.0)
    of_film = jnp.asarray(numpyro.sample("W", entry.expand([films, rank]).to_event(2)))
    of_user = jnp.asarray(numpyro.sample("H", entry.expand([users, rank]).to_event(2)))
    with numpyro.plate("ratings", len(film), subsample_size=batch) as rows:
        mean = predicted(of_film, of_user, film[rows], user[rows])
        numpyro.sample("rating", dist.Normal(mean, 1.0), obs=rating[rows])


def bound(films: Films, batch: int) -> Callable[[jax.Array, jax.Array, jax.Array], None]:
    """Return the model of these sizes."""
    return partial(model, films=films.shape[0], users=films.shape[1], rank=films.rank, batch=batch)


def predicted(
    of_film: jax.Array, of_user: jax.Array, film: jax.Array, user: jax.Array
) -> jax.Array:
    """Return sum_p W_ip H_pj for these films and users."""
    return (of_film[film] * of_user[user]).sum(-1)


def products(
    of_film: np.ndarray, of_user: np.ndarray, film: np.ndarray, user: np.ndarray
) -> np.ndarray:
    """Return sum_p W_ip H_pj for these films and users, a million at a time to spare memory."""
    cuts = range(BLOCK, len(film), BLOCK)
    blocks = zip(np.split(film, cuts), np.split(user, cuts), strict=True)
    return np.concatenate([np.einsum("np,np->n", of_film[i], of_user[j]) for i, j in blocks])


@cache
def movielens() -> Films:
    """Return 100,004 ratings by 671 users of 9,066 films; 90,000 are to be fitted."""
    table = frame("dslabs", "movielens")
    film, user = (
        np.unique(np.asarray(table[name]), return_inverse=True)[1].astype(np.int32)
        for name in ("movieId", "userId")
    )
    rating = np.asarray(table["rating"], np.float64)
    return _split(np.random.default_rng(6), film, user, rating, 90_000, RANK, None)


@cache
def simulated(
    films: int, users: int, ratings: int, fitted: int, rank: int = RANK, spread: float = 1.0
) -> Films:
    """Return ratings drawn from the model.

    Films and users have log-normal rates, whose logarithms have the standard deviations 1.5 and 1
    times `spread`. No pair of film and user occurs twice.
    """
    rng = np.random.default_rng(8)
    popularity, activity = (
        rng.lognormal(0.0, scale * spread, size) for scale, size in ((1.5, films), (1.0, users))
    )
    film, user = _pairs(rng, popularity / popularity.sum(), activity / activity.sum(), ratings)
    of_film, of_user = (rng.normal(size=(size, rank)) for size in (films, users))
    noiseless = products(of_film, of_user, film, user)
    return _split(rng, film, user, noiseless + rng.normal(size=ratings), fitted, rank, noiseless)


def _pairs(
    rng: np.random.Generator, of_film: np.ndarray, of_user: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return distinct pairs of film and user, drawn with these chances one after the other."""
    found = np.empty(0, np.int64)
    while len(found) < count:
        sizes = (len(of_film), len(of_user))
        film, user = (
            rng.choice(n, count, p=p) for n, p in zip(sizes, (of_film, of_user), strict=True)
        )
        drawn = np.concatenate([found, film * len(of_user) + user])
        found = drawn[np.sort(np.unique(drawn, return_index=True)[1])]
    film, user = np.divmod(found[:count], len(of_user))
    return film.astype(np.int32), user.astype(np.int32)


def _split(
    rng: np.random.Generator,
    film: np.ndarray,
    user: np.ndarray,
    rating: np.ndarray,
    fitted: int,
    rank: int,
    noiseless: np.ndarray | None,
) -> Films:
    """Return ratings of which a random set is to be fitted."""
    shape = int(film.max()) + 1, int(user.max()) + 1
    order = rng.permutation(len(film))
    kept, held = order[:fitted], order[fitted:]
    mean = rating[kept].mean()
    centred = (rating - mean).astype(np.float32)
    return Films(
        film=film[kept],
        user=user[kept],
        rating=centred[kept],
        test_film=film[held],
        test_user=user[held],
        test_rating=centred[held],
        shape=shape,
        rank=rank,
        noiseless=None if noiseless is None else noiseless[held] - mean,
    )
