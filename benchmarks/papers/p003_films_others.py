"""Other ways to predict ratings: variational inference, least squares and a Gibbs sampler."""

from itertools import islice
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.infer import SVI, Trace_ELBO, init_to_sample
from numpyro.infer.autoguide import AutoNormal
from optax import adam, cosine_decay_schedule

from benchmarks.papers.p003_films import Films, bound
from benchmarks.papers.p003_films_exact import sweeps
from benchmarks.papers.p003_films_runs import Clock, Course, joined

RATE = 0.02
"""Adam's first step size; it falls to zero by a cosine."""


def gibbs(films: Films, chains: int, count: int, burn_in: int, seed: int, records: int) -> Course:
    """Return running means of an exact Gibbs sampler's predictions, from draws of the prior."""
    generators = np.random.default_rng(seed).spawn(chains)
    kept = np.unique(np.geomspace(1, count - burn_in, records).round().astype(int))
    return _by_sweeps(films, generators, kept, burn_in, is_random=True)


def least_squares(films: Films, chains: int, count: int, seed: int, records: int) -> Course:
    """Return predictions after each sweep of alternating least squares, from draws of the prior."""
    generators = np.random.default_rng(seed).spawn(chains)
    kept = np.unique(np.geomspace(1, count, records).round().astype(int))
    return _by_sweeps(films, generators, kept, 0, is_random=False)


def _by_sweeps(
    films: Films, generators: list, kept: np.ndarray, burn_in: int, is_random: bool
) -> Course:
    clock, errors, means, seconds = Clock(), [], [], np.zeros(len(kept))
    for rng in generators:
        start = rng.normal(size=(films.shape[1], films.rank))
        path = sweeps(films, start, rng if is_random else None)
        total, predictions, clock = 0.0, [], Clock()
        clock(list, islice(path, burn_in))
        for count, more in enumerate(np.diff(kept, prepend=0)):
            drawn = clock(list, islice(path, int(more)))
            total = total + np.sum(drawn, axis=0)
            mean = total / kept[count] if is_random else drawn[-1]
            predictions.append(mean)
            seconds[count] += clock.seconds / len(generators)
        means.append(predictions[-1])
        errors.append(films.error(np.array(predictions)))
    gradients = 2 * len(films.rating) * (burn_in + kept)
    return Course(seconds, gradients, np.array(means), np.array(errors))


def variational(
    films: Films, batch: int, steps: int, records: int, chains: int, seed: int
) -> Course:
    """Return predictions by means of mean-field normal approximations along their optimisation."""
    guide = AutoNormal(bound(films, batch), init_loc_fn=init_to_sample)
    svi = SVI(bound(films, batch), guide, adam(cosine_decay_schedule(RATE, steps)), Trace_ELBO())
    args = tuple(map(jnp.asarray, (films.film, films.user, films.rating)))
    kept = np.unique(np.geomspace(steps / 50, steps, records).round().astype(int))

    @jax.jit
    def several(state: Any, count: Any, args: tuple) -> Any:
        return jax.lax.fori_loop(0, count, lambda _, s: svi.update(s, *args)[0], state)

    def one(key: jax.Array) -> Course:
        state = svi.init(key, *args)
        jax.block_until_ready(several(state, 0, args))  # compiles
        clock, seconds, means = Clock(), [], []
        for more in np.diff(kept, prepend=0):
            state = clock(several, state, int(more), args)
            seconds.append(clock.seconds)
            # W and H are independent in the approximation: a product's mean is that of the means.
            found = svi.get_params(state)
            of_film, of_user = (np.asarray(found[f"{name}_auto_loc"]) for name in ("W", "H"))
            means.append((of_film[films.test_film] * of_user[films.test_user]).sum(-1))
        mean = np.array(means, np.float64)
        return Course(np.array(seconds), batch * kept, mean[-1:], films.error(mean)[None])

    return joined([one(key) for key in jax.random.split(jax.random.key(seed), chains)])
