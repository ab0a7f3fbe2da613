"""Ours as a user calls it: `MCMC(SGHMCSplit(model))` on ratings of films, no number given."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.infer import MCMC

from benchmarks.papers.p003_films import Films, bound, products
from benchmarks.papers.p003_films_runs import Clock, Course
from numpyro_sgmcmc import SGHMCSplit


class Call(NamedTuple):
    """How `MCMC` is called.

    Attributes:
        batch: the model's own `subsample_size`.
        num_warmup: NumPyro's.
        num_samples: of a chain.
        chains: which run one after the other with one warm-up.
        records: running means that are scored, at geometric distances.
    """

    batch: int
    num_warmup: int
    num_samples: int
    chains: int
    records: int = 10


def untuned(films: Films, call: Call) -> Course:
    """Return running means of predictions of the chains' draws.

    The seconds of all records hold those of the warm-up, with its compilation: of the search for a
    mode, the windows and the first chain's own iterations before its first draw. Draws take equal
    times, and the median over chains leaves out the compilation of the first one's.
    """
    kernel = SGHMCSplit(bound(films, call.batch))
    mcmc = MCMC(
        kernel,
        num_warmup=call.num_warmup,
        num_samples=call.num_samples,
        jit_model_args=True,
        progress_bar=False,
    )
    args = tuple(map(jnp.asarray, (films.film, films.user, films.rating)))
    kept = np.unique(np.geomspace(1, call.num_samples, call.records).round().astype(int))
    warmup, sampling, means = [], [], []
    for number in range(call.chains):
        key_warmup, key_run = jax.random.split(jax.random.key(number))
        warmup.append(_seconds(mcmc, mcmc.warmup, key_warmup, args))
        sampling.append(_seconds(mcmc, mcmc.run, key_run, args))
        means.append(_running(films, mcmc.get_samples(), kept))
    running = np.array(means)
    assert kernel.num_steps is not None
    return Course(
        warmup[0] + np.median(sampling) / call.num_samples * kept,
        call.batch * kernel.num_steps * kept,
        running[:, -1],
        films.error(running),
        warmup[0],
    )


def _seconds(mcmc: MCMC, phase: Callable, key: jax.Array, args: tuple) -> float:
    def last_state() -> Any:
        phase(key, *args)
        return mcmc.last_state

    clock = Clock()
    clock(last_state)
    return clock.seconds


def _running(films: Films, draws: dict[str, jax.Array], kept: np.ndarray) -> np.ndarray:
    """Return means of the predictions of the first draws, (records, T)."""
    total, found = np.zeros(len(films.test_rating)), []
    for count, (of_film, of_user) in enumerate(zip(draws["W"], draws["H"], strict=True), 1):
        both = np.asarray(of_film), np.asarray(of_user)
        total += products(*both, films.test_film, films.test_user)
        if count in kept:
            found.append(total / count)
    return np.array(found)
