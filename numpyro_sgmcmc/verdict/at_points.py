"""A function of the model at many points, computed for blocks of them in several threads."""

import os
from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any

import jax
import numpy as np

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.model import Structure
from numpyro_sgmcmc.preparation import Target, View
from numpyro_sgmcmc.verdict.columns import in_threads

BUSY = 0.9
"""Share of all processors from which on a program does not gain from threads."""

Given = Callable[[np.ndarray], tuple]


def at_points(
    target: Target,
    fn: Callable,
    points: np.ndarray,
    most: int,
    *inputs: Any,
    given: Given = lambda _: (),
    name: Any = None,
    optimise: bool = True,
) -> Any:
    """Return `fn(view, points, *given, *inputs)` at all points, as NumPy arrays.

    The function is compiled for a block of points. Most such programs go through the points one by
    one and leave all processors but one idle, hence the threads. Where XLA spreads the work on one
    point over the processors, as the first block shows, the blocks are computed one by one.

    Args:
        target: the model bound to its data.
        fn: function of a `View`, points (k, d), and inputs, whose outputs have leading shape (k,).
        points: (n, d).
        most: points of a block.
        inputs: the same for all points.
        given: from places among the points, (k,), to inputs for these.
        name: see `Target.run`.
        optimise: likewise.
    """
    places = _blocks(len(points), most)
    is_double = jax.config.read("jax_enable_x64")

    def of(block: np.ndarray) -> Any:
        with jax.enable_x64(is_double):  # The setting may be one of the calling thread alone.
            found = target.run(
                fn, points[block], *given(block), *inputs, name=name, optimise=optimise
            )
            return jax.tree.map(np.asarray, found)

    first = places[0]
    # Tracing stays in this thread, because NumPyro's handlers are global.
    target.ready(fn, points[first], *given(first), *inputs, name=name, optimise=optimise)
    wall, all_processors = perf_counter(), process_time()
    parts = [of(first)]
    busy = (process_time() - all_processors) / ((perf_counter() - wall) * (os.cpu_count() or 1))
    # Threads that each want all processors wait for each other.
    parts += map(of, places[1:]) if busy > BUSY else in_threads(of, list(places[1:]))
    return jax.tree.map(lambda *x: np.concatenate(x)[: len(points)], *parts)


def ahead_at_points(
    target: Target, fn: Callable, points: np.ndarray, most: int, *inputs: Any, given: Given
) -> None:
    """Begin to compile what `at_points` runs with these arguments, in another thread."""
    first = _blocks(len(points), most)[0]
    target.ahead(fn, points[first], *given(first), *inputs)


def with_keys(
    target: Target,
    fn: Callable,
    points: np.ndarray,
    most: int,
    key: jax.Array,
    *inputs: Any,
    name: Any,
) -> Any:
    """Return `fn(view, points, keys, *inputs)` at all points, each with a key of its own.

    Args:
        target: see `at_points`.
        fn: likewise.
        points: likewise.
        most: likewise.
        key: of all points; it is used once.
        inputs: see `at_points`.
        name: likewise.
    """

    def keyed(view: View, points: jax.Array, first: jax.Array, key: jax.Array, *inputs: Any) -> Any:
        # Split here, because a program of its own for that takes longer to compile.
        return fn(view, points, random.split(random.fold_in(key, first), len(points)), *inputs)

    given = lambda places: (np.uint32(places[0]),)  # noqa: E731
    return at_points(target, keyed, points, most, key, *inputs, given=given, name=name)


def random_rows(structure: Structure, key: jax.Array, rows: int) -> Given:
    """Return rows for points: all rows of small plates, and a large sample of the other plates.

    NumPy draws them, which is faster than JAX on a CPU and takes no compilation. Each point has
    rows of its own, which depend on the key and on the first point of its block.

    Args:
        structure: of the model.
        key: of the rows; it is used once.
        rows: for each group of plates that share a site, at most.

    Returns:
        A function from k places to the rows by plate, (k, rows of the plate).
    """
    seed = np.asarray(jax.random.key_data(key)).ravel()

    def given(places: np.ndarray) -> tuple[dict[str, np.ndarray]]:
        generator = np.random.default_rng([*seed, int(places[0])])
        found = {}
        for group in structure.groups:
            most = int(rows ** (1 / len(group)))
            for name in group:
                size = structure.plates[name].size
                if size <= most:
                    found[name] = np.broadcast_to(
                        np.arange(size, dtype=np.int32), (len(places), size)
                    )
                else:
                    found[name] = generator.integers(size, size=(len(places), most), dtype=np.int32)
        return (found,)

    return given


def _blocks(points: int, most: int) -> np.ndarray:
    """Return places of points, one row for each block of at most so many."""
    blocks = -(-points // most)
    # Blocks of one size need one program; the last one is filled with the first points.
    size = -(-points // blocks)
    return (np.arange(blocks * size) % points).reshape(blocks, size)
