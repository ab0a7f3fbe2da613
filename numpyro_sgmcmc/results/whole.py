"""Log likelihood, predictions and observed data of the whole data set, computed in blocks."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpyro import handlers
from tqdm.auto import tqdm

from numpyro_sgmcmc.model import Structure, split_arguments
from numpyro_sgmcmc.model.handlers import with_minibatch

MAX_BYTES = 2 * 2**30
"""Size limit of a result, in bytes."""

ROWS = 16_384
"""Number of rows of the longest subsampled plate in a block."""

DRAWS = 256
"""Number of draws in a block."""

PATIENCE = 2.0
"""Time in seconds after which a progress bar appears."""


def observed_data(structure: Structure, args: tuple, kwargs: dict) -> dict[str, np.ndarray]:
    """Return the values of the observed sites for all rows."""

    def values(trace: dict[str, Any]) -> dict[str, Any]:
        return {name: trace[name]["value"] for name in structure.observed}

    draw = jax.tree.map(lambda x: x[None], _some_constrained(structure, args, kwargs))
    # No size limit: these arrays are in memory already.
    results = _over_rows(structure, args, kwargs, draw, values, None, True, None, bounded=False)
    return {name: value[0] for name, value in results.items()}


def log_likelihood(
    structure: Structure,
    args: tuple,
    kwargs: dict,
    draws: dict[str, Any],
    rows: np.ndarray | None = None,
) -> dict[str, np.ndarray]:
    """Return log p(row | draw) without the plate's scale; draws lie along the first axis.

    Args:
        structure: structure of the model.
        args: positional arguments of the model.
        kwargs: keyword arguments of the model.
        draws: constrained latent sites.
        rows: rows of the longest subsampled plate; all rows by default.

    Raises:
        ValueError: if the result would be larger than `MAX_BYTES`.
    """

    def densities(trace: dict[str, Any]) -> dict[str, Any]:
        return {n: trace[n]["fn"].log_prob(trace[n]["value"]) for n in structure.observed}

    return _over_rows(structure, args, kwargs, draws, densities, rows, True, None)


def posterior_predictive(
    structure: Structure,
    args: tuple,
    kwargs: dict,
    draws: dict[str, Any],
    key: jax.Array,
    rows: np.ndarray | None = None,
) -> dict[str, np.ndarray]:
    """Return a simulated data set for each draw; arguments as for `log_likelihood`."""

    def simulated(trace: dict[str, Any]) -> dict[str, Any]:
        return {name: trace[name]["value"] for name in structure.observed}

    return _over_rows(structure, args, kwargs, draws, simulated, rows, False, key)


def longest_plate(structure: Structure) -> str | None:
    """Return the name of the subsampled plate with the most rows; None if there is none."""
    return max(structure.plates, key=lambda name: structure.plates[name].size, default=None)


def _over_rows(
    structure: Structure,
    args: tuple,
    kwargs: dict,
    draws: dict[str, Any],
    read: Callable,
    rows: np.ndarray | None,
    condition: bool,
    key: jax.Array | None,
    *,
    bounded: bool = True,
) -> dict[str, np.ndarray]:
    arrays, rebuild = split_arguments(args, kwargs)
    key = jax.random.key(0) if key is None else key
    axes: dict[str, int | None] = {}
    plate = longest_plate(structure)

    def one_draw(
        arrays: list[Any], indices: dict[str, jax.Array], draw: dict[str, Any], key: jax.Array
    ) -> dict[str, Any]:
        args, kwargs = rebuild(arrays)
        model = structure.model if condition else handlers.uncondition(structure.model)
        model = with_minibatch(model, structure.fixed, indices, key)
        trace = handlers.trace(handlers.substitute(model, data=draw)).get_trace(*args, **kwargs)
        result = read(trace)
        for name, value in result.items():
            axes[name] = _axis(
                trace[name],
                plate,
                jnp.ndim(value),
                value_has_event=not _is_density(value, trace[name]),
            )
        return result

    count = jax.tree.leaves(draws)[0].shape[0] if draws else 1
    keys = jax.random.split(key, count)
    whole = {name: jnp.arange(p.size) for name, p in structure.plates.items()}
    if plate is not None and rows is not None:
        whole[plate] = jnp.asarray(rows)
    first = jax.tree.map(lambda x: x[0], (draws, keys))
    shapes = jax.eval_shape(one_draw, arrays, whole, *first)
    if bounded:
        _check_size(shapes, count)
    results = {n: np.empty((count, *s.shape), s.dtype) for n, s in shapes.items()}

    @jax.jit
    def block(arrays: list[Any], indices: dict[str, jax.Array], draws: Any, keys: Any) -> Any:
        return jax.lax.map(lambda pair: one_draw(arrays, indices, *pair), (draws, keys))

    wanted = jnp.zeros(1, jnp.int32) if plate is None else whole[plate]
    blocks = [(r, d) for r in _blocks(len(wanted), ROWS) for d in _blocks(count, DRAWS)]
    # Short computations show no progress bar.
    for place, some in tqdm(blocks, desc="whole data", delay=PATIENCE, leave=False):
        indices = whole if plate is None else whole | {plate: wanted[place]}
        keys_block = jax.vmap(lambda k, n=place.start: jax.random.fold_in(k, n))(keys[some])
        found = block(arrays, indices, jax.tree.map(lambda x, s=some: x[s], draws), keys_block)
        for name, value in found.items():
            axis = axes[name]
            at = (some,) if axis is None else (some, *[slice(None)] * axis, place)
            results[name][at] = value
    return results


def _blocks(length: int, size: int) -> list[slice]:
    """Return slices of one length that cover `length`; the last one may overlap another."""
    size = min(length, size)
    starts = range(0, length, size) if size else ()
    return [slice(min(s, length - size), min(s, length - size) + size) for s in starts]


def _is_density(value: Any, site: dict[str, Any]) -> bool:
    return jnp.ndim(value) == jnp.ndim(site["value"]) - len(site["fn"].event_shape)


def _axis(
    site: dict[str, Any], plate: str | None, ndim: int, *, value_has_event: bool
) -> int | None:
    event = len(site["fn"].event_shape) if value_has_event else 0
    for frame in site["cond_indep_stack"]:
        if frame.name == plate:
            return ndim - event + frame.dim
    return None


def _check_size(shapes: dict[str, Any], count: int) -> None:
    each = sum(s.size * s.dtype.itemsize for s in shapes.values())
    size = count * each
    if size > MAX_BYTES:
        raise ValueError(
            f"Expected a result of at most {MAX_BYTES / 2**30:.3g} GiB; {count:,} draws of these"
            f" rows would take {size / 2**30:.3g} GiB. Take a subset of {MAX_BYTES / size:.2%} or"
            " less: of the draws with draws=..., or of the rows with rows=...."
        )


def _some_constrained(structure: Structure, args: tuple, kwargs: dict) -> dict[str, jax.Array]:
    sites = structure.constrain(structure.prototype, args, kwargs)
    return {name: sites[name] for name in structure.prototype}
