"""The factorisation one matrix at a time: given the other its rows are independent and Gaussian.

Draws from these conditional distributions are an exact Gibbs sampler of the posterior
(Salakhutdinov and Mnih 2008), and their means are alternating least squares, with ridges that are
the priors.
"""

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array

from benchmarks.papers.p003_films import Films, products


def sweeps(
    films: Films, start: np.ndarray, rng: np.random.Generator | None
) -> Iterator[np.ndarray]:
    """Yield predictions of the test ratings after each sweep, without end.

    Args:
        films: the ratings.
        start: H' at the start, (users, P).
        rng: of the draws; None takes means.
    """
    place = films.film, films.user
    seen = csr_array((np.ones(len(films.film)), place), shape=films.shape)
    rating = csr_array((films.rating.astype(np.float64), place), shape=films.shape)
    of_user, by_user = start, (seen.T.tocsr(), rating.T.tocsr())
    while True:
        of_film = given(seen, rating, of_user, rng)
        of_user = given(*by_user, of_film, rng)
        yield products(of_film, of_user, films.test_film, films.test_user)


def given(
    seen: csr_array, rating: csr_array, other: np.ndarray, rng: np.random.Generator | None
) -> np.ndarray:
    """Return rows of precision I + sum h h' and mean precision^-1 sum x h, or the means."""
    rank = other.shape[1]
    outer = (other[:, :, None] * other[:, None, :]).reshape(-1, rank**2)
    precision = np.eye(rank) + (seen @ outer).reshape(-1, rank, rank)
    shift = rating @ other
    if rng is not None:
        # L z ~ N(0, precision), so that precision^-1 L z has the variance that is wanted.
        noise = rng.normal(size=(len(shift), rank, 1))
        shift = shift + (np.linalg.cholesky(precision) @ noise)[..., 0]
    return np.linalg.solve(precision, shift[..., None])[..., 0]
