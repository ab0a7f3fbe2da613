"""The three sides of figure 5, and their settings.

NUTS and HMCECS start at the posterior's mode, with the Laplace approximation's covariance as their
dense inverse mass matrix. They adapt the step size alone. `peer_settings` tries alternatives
and writes them to `benchmarks/results/speed/peer_settings.csv`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
from numpyro.infer import HMCECS, MCMC, NUTS, init_to_value

from benchmarks.speed.logistic import Data, model, whole_model
from benchmarks.speed.newton import laplace
from numpyro_sgmcmc import SGHMCSplit


class Length(NamedTuple):
    """Transitions of a chain: those of the warm-up, and those that are kept after it."""

    warmup: int
    draws: int


class Settings(NamedTuple):
    """Settings of NUTS, on its own or within HMCECS.

    Attributes:
        known: whether the mass matrix is the Laplace approximation's and kept, not adapted.
        depth: the largest depth of a tree.
        accept: the target acceptance probability.
        chains: vectorised chains.
    """

    known: bool = True
    depth: int = 3
    accept: float = 0.7
    chains: int = 4


class Subsample(NamedTuple):
    """Settings of HMCECS: rows in its minibatch, and blocks of which it changes one at a time."""

    batch: int = 100
    blocks: int = 10


FOUR_CHAINS = Settings()
ONE_CHAIN = Settings(chains=1)
BLOCKS_OF_TEN = Subsample()


def ours(data: Data, length: Length) -> MCMC:
    """Return four vectorised chains of `SGHMCSplit(model)` with nothing chosen."""
    return chains_of(SGHMCSplit(model), length, 4)


def nuts(data: Data, length: Length, settings: Settings = FOUR_CHAINS) -> MCMC:
    """Return NUTS on all rows; the search for the mode is part of the call."""
    return chains_of(_nuts(whole_model, *laplace(*data), settings), length, settings.chains)


def hmcecs(
    data: Data,
    length: Length,
    settings: Settings = ONE_CHAIN,
    subsample: Subsample = BLOCKS_OF_TEN,
) -> MCMC:
    """Return HMCECS with a second-order Taylor proxy at the mode; the search is part of the call.

    One chain: HMCECS cannot be vectorised.
    """
    mode, covariance = laplace(*data)
    inner = _nuts(partial(model, batch=subsample.batch), mode, covariance, settings)
    proxy = HMCECS.taylor_proxy({"weights": mode})
    kernel = HMCECS(inner, num_blocks=subsample.blocks, proxy=proxy)
    return chains_of(kernel, length, settings.chains)


def chains_of(kernel: Any, length: Length, chains: int) -> MCMC:
    """Return a run of vectorised chains without a progress bar."""
    return MCMC(
        kernel,
        num_warmup=length.warmup,
        num_samples=length.draws,
        num_chains=chains,
        chain_method="vectorized" if chains > 1 else "sequential",
        progress_bar=False,
    )


def _nuts(model: Any, mode: jax.Array, covariance: jax.Array, settings: Settings) -> NUTS:
    return NUTS(
        model,
        dense_mass=True,
        inverse_mass_matrix=covariance if settings.known else None,
        adapt_mass_matrix=not settings.known,
        max_tree_depth=settings.depth,
        target_accept_prob=settings.accept,
        init_strategy=init_to_value(values={"weights": mode}),
    )


class Side(NamedTuple):
    """A side's name in the table, its run, and its length in the figure."""

    title: str
    make: Callable[[Data, Length], MCMC]
    length: Length


SIDES = {
    "ours": Side("ours", ours, Length(1_000, 20_000)),
    "nuts": Side("NUTS", nuts, Length(50, 60)),
    "hmcecs": Side("HMCECS", hmcecs, Length(150, 5_000)),
}
