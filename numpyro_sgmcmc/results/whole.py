"""What the model says about the whole data set, row block by row block."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpyro import handlers

from numpyro_sgmcmc.potential import Structure, split_arguments
from numpyro_sgmcmc.potential.handlers import with_minibatch

MAX_BYTES = 2 * 2**30
"""The largest result that is computed, in bytes."""

ROWS = 16_384
"""Rows of the longest subsampled plate that one pass holds."""


def observed_data(structure: Structure, args: tuple, kwargs: dict) -> dict[str, np.ndarray]:
    """Return the values of the observed sites for all rows."""

    def values(trace: dict[str, Any], _: Any) -> dict[str, Any]:
        return {name: trace[name]["value"] for name in structure.observed}

    draw = jax.tree.map(lambda x: x[None], _some_constrained(structure, args, kwargs))
    results = _over_rows(structure, args, kwargs, draw, values, condition=True, key=None)
    return {name: value[0] for name, value in results.items()}


def log_likelihood(
    structure: Structure, args: tuple, kwargs: dict, draws: dict[str, Any]
) -> dict[str, np.ndarray]:
    """Return log p(row | draw) for all rows and draws, unscaled; draws lie along the first axis.

    Raises:
        ValueError: where the result would be larger than `MAX_BYTES`.
    """

    def densities(trace: dict[str, Any], _: Any) -> dict[str, Any]:
        return {n: trace[n]["fn"].log_prob(trace[n]["value"]) for n in structure.observed}

    return _over_rows(structure, args, kwargs, draws, densities, condition=True, key=None)


def posterior_predictive(
    structure: Structure, args: tuple, kwargs: dict, draws: dict[str, Any], key: jax.Array
) -> dict[str, np.ndarray]:
    """Return one simulated data set per draw; draws lie along the first axis.

    Raises:
        ValueError: where the result would be larger than `MAX_BYTES`.
    """

    def simulated(trace: dict[str, Any], _: Any) -> dict[str, Any]:
        return {name: trace[name]["value"] for name in structure.observed}

    return _over_rows(structure, args, kwargs, draws, simulated, condition=False, key=key)


def _over_rows(
    structure: Structure,
    args: tuple,
    kwargs: dict,
    draws: dict[str, Any],
    read: Callable,
    *,
    condition: bool,
    key: jax.Array | None,
) -> dict[str, np.ndarray]:
    arrays, rebuild = split_arguments(args, kwargs)
    key = jax.random.key(0) if key is None else key
    axes: dict[str, int | None] = {}
    plate = max(structure.plates, key=lambda name: structure.plates[name].size, default=None)

    def one_draw(
        arrays: list[Any], indices: dict[str, jax.Array], draw: dict[str, Any], key: jax.Array
    ) -> dict[str, Any]:
        args, kwargs = rebuild(arrays)
        model = structure.model if condition else handlers.uncondition(structure.model)
        model = with_minibatch(model, structure.fixed, indices, key)
        trace = handlers.trace(handlers.substitute(model, data=draw)).get_trace(*args, **kwargs)
        result = read(trace, draw)
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
    first = jax.tree.map(lambda x: x[0], (draws, keys))
    shapes = jax.eval_shape(one_draw, arrays, whole, *first)
    _check_size(shapes, count)

    @jax.jit
    def all_draws(arrays: list[Any], indices: dict[str, jax.Array], draws: Any, keys: Any) -> Any:
        return jax.lax.map(lambda pair: one_draw(arrays, indices, *pair), (draws, keys))

    if plate is None:
        return jax.tree.map(np.asarray, all_draws(arrays, whole, draws, keys))
    blocks = []
    size = structure.plates[plate].size
    for begin in range(0, size, ROWS):
        rows = jnp.arange(begin, min(begin + ROWS, size))
        keys_block = jax.vmap(lambda k, n=begin: jax.random.fold_in(k, n))(keys)
        block = all_draws(arrays, whole | {plate: rows}, draws, keys_block)
        blocks.append(jax.tree.map(np.asarray, block))
    joined = {}
    for name in shapes:
        axis = axes[name]
        parts = [block[name] for block in blocks]
        joined[name] = parts[0] if axis is None else np.concatenate(parts, axis=1 + axis)
    return joined


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
    size = count * sum(s.size * s.dtype.itemsize for s in shapes.values())
    if size > MAX_BYTES:
        raise ValueError(
            f"Expected a result of at most {MAX_BYTES / 2**30:.0f} GiB; {count} draws of all rows"
            f" would take {size / 2**30:.1f} GiB. Keep fewer draws (`thinning=`), or use"
            " `numpyro.infer.log_likelihood` or `Predictive` on a subset of rows."
        )


def _some_constrained(structure: Structure, args: tuple, kwargs: dict) -> dict[str, jax.Array]:
    sites = structure.constrain(structure.prototype, args, kwargs)
    return {name: sites[name] for name in structure.prototype}
