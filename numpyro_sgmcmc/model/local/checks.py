"""A check that the rows of a model depend on each other through shared parameters only."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.cpu.compiling import compiler_options
from numpyro_sgmcmc.model.local.density import JointPotential

TRIALS = 4
"""Pairs of rows, with random values, that are compared."""


def check_rows(potential: JointPotential, key: jax.Array) -> None:
    """Raise an error if rows depend on each other's latents, or shared sites on those of rows.

    Minibatches would be biased for such a model. The densities of pairs of rows are compared with
    the sums of the densities of single rows, at random values.

    Raises:
        ValueError: if they differ by more than rounding, or shared sites depend on a row.
    """
    structure = potential.structure
    local = structure.local

    # Compiled for one call: without optimisation, which takes most of the time and memory.
    @partial(jax.jit, compiler_options=compiler_options(structure.dimension, optimise=False))
    def trial(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        key_position, key_latents, key_rows, key_discrete = jax.random.split(key, 4)
        position = jax.random.uniform(key_position, (structure.dimension,), minval=-1.0)
        latents = jax.random.uniform(key_latents, (2, local.dimension), minval=-1.0)
        rows = _two_rows(key_rows, local.rows)
        discrete = _any_values(potential, key_discrete, position, rows)
        single = jax.vmap(lambda a, i, s: potential._sums(position, a, i, s)[:2])
        outside, inside = single(latents, rows, discrete)
        together = -potential.rows(position, latents, rows, discrete)
        return outside, jnp.stack([inside.sum(), together])

    outside, inside = (np.asarray(x) for x in jax.vmap(trial)(jax.random.split(key, TRIALS)))
    named = f"{', '.join(map(repr, local.names))} in the subsampled plate {local.plate!r}"
    if not _are_equal(outside[:, 0], outside[:, 1]):
        raise ValueError(
            "Expected sites outside the subsampled plate that do not depend on its rows; got a"
            f" density outside that depends on {named}. Move that site or factor into the plate."
        )
    if not _are_equal(inside[:, 0], inside[:, 1]):
        raise ValueError(
            "Expected rows that are independent of each other given the shared parameters; got a"
            f" row whose density depends on another row's latents, of {named}. Draw them in a"
            " whole plate (no `subsample_size`), or make a row of what depends on each other."
        )


def _two_rows(key: jax.Array, size: int) -> jax.Array:
    """Return two rows that differ; `jax.random.choice` would permute all rows for them."""
    key_first, key_away = jax.random.split(key)
    first = jax.random.randint(key_first, (), 0, size)
    away = jax.random.randint(key_away, (), 1, max(size, 2))
    return jnp.stack([first, (first + away) % size])


def _any_values(
    potential: JointPotential, key: jax.Array, position: jax.Array, rows: jax.Array
) -> jax.Array:
    """Return discrete values of rows, each as likely as any other where they are finitely many."""
    local = potential.structure.local
    if not local.discrete:
        return local.some_discrete(len(rows))
    key_prior, *keys = jax.random.split(key, len(local.discrete) + 1)
    found = []
    for key_site, (site, part) in zip(
        keys, local.parts(potential.drawn(key_prior, position, rows)), strict=True
    ):
        if site.support is not None:
            part = jax.random.choice(key_site, jnp.asarray(site.support, jnp.int32), part.shape)
        found.append(part)
    return jnp.concatenate(found, axis=1)


def _are_equal(some: np.ndarray, others: np.ndarray) -> bool:
    both = np.isfinite(some) & np.isfinite(others)
    size = np.maximum(np.abs(some), np.abs(others)) + 1.0
    rounding = 1_000 * np.finfo(some.dtype).eps
    return bool(np.all(np.abs(some - others)[both] <= rounding * size[both]))
