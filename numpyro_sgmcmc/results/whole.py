"""Log likelihood, predictions and observed data of the whole data set, computed in blocks."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpyro import handlers
from tqdm.auto import tqdm

from numpyro_sgmcmc.model import Structure, split_arguments
from numpyro_sgmcmc.model.enumeration import enumerated, log_marginals, probabilities
from numpyro_sgmcmc.model.handlers import with_minibatch

MAX_BYTES = 2 * 2**30
"""Size limit of a result, in bytes."""

ROWS = 16_384
"""Number of rows of the longest subsampled plate in a block."""

DRAWS = 256
"""Number of draws in a block."""

PATIENCE = 2.0
"""Time in seconds after which a progress bar appears."""


class Rowwise(NamedTuple):
    """Values with an axis of rows.

    Attributes:
        values: the array.
        axis: the axis of the longest subsampled plate; None if there is none.
    """

    values: Any
    axis: int | None


def observed_data(structure: Structure, args: tuple, kwargs: dict) -> dict[str, np.ndarray]:
    """Return the values of the observed sites for all rows."""
    plate = longest_plate(structure)

    def values(trace: dict[str, Any]) -> dict[str, Rowwise]:
        return {name: _value(trace[name], plate) for name in structure.observed}

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
    latents: dict[str, Rowwise] | None = None,
) -> dict[str, np.ndarray]:
    """Return log p(row | draw) without the plate's scale; draws lie along the first axis.

    Observed sites that share a discrete latent site have one joint density, `name_of` their names.
    Densities of rows with latents are conditional on these.

    Args:
        structure: structure of the model.
        args: positional arguments of the model.
        kwargs: keyword arguments of the model.
        draws: constrained latent sites.
        rows: rows of the longest subsampled plate; all rows by default.
        latents: draws of the latents of these rows by site, draws along the first axis.

    Raises:
        ValueError: if the result would be larger than `MAX_BYTES`.
    """
    plate, enumeration = longest_plate(structure), structure.enumeration
    summed = {name for sites in enumeration.marginals for name in sites}

    def densities(trace: dict[str, Any]) -> dict[str, Rowwise]:
        found = {n: _density(trace[n], plate) for n in structure.observed if n not in summed}
        if not summed:
            return found
        marginals = log_marginals(trace, enumeration, structure.plates, structure.observed)
        for sites, values in marginals.items():
            plates = enumeration.marginals[sites]
            axis = plates.index(plate) if plate in plates else None
            found[name_of(sites)] = Rowwise(values, axis)
        return found

    several = bool(summed)
    return _over_rows(
        structure, args, kwargs, draws, densities, rows, True, None, latents, all_states=several
    )


def class_probabilities(
    structure: Structure,
    args: tuple,
    kwargs: dict,
    draws: dict[str, Any],
    site: str,
    rows: np.ndarray | None = None,
) -> np.ndarray:
    """Return p(state | row, draw) of a discrete latent site, (draw, rows of its plates, K)."""
    plate, enumeration = longest_plate(structure), structure.enumeration
    plates = enumeration.plates[site]

    def of_states(trace: dict[str, Any]) -> dict[str, Rowwise]:
        found = probabilities(trace, enumeration, structure.plates, site)
        return {site: Rowwise(found, plates.index(plate) if plate in plates else None)}

    return _over_rows(structure, args, kwargs, draws, of_states, rows, True, None, all_states=True)[
        site
    ]


def posterior_predictive(
    structure: Structure,
    args: tuple,
    kwargs: dict,
    draws: dict[str, Any],
    key: jax.Array,
    rows: np.ndarray | None = None,
    latents: dict[str, Rowwise] | None = None,
) -> dict[str, np.ndarray]:
    """Return a simulated data set for each draw; arguments as for `log_likelihood`.

    Discrete latent sites are drawn anew in each plate, as for new rows.

    Raises:
        ValueError: if the result would be larger than `MAX_BYTES`, or observations depend on a
            discrete site outside all plates, whose posterior a new draw would ignore.
    """
    for sites, plates in structure.enumeration.marginals.items():
        if not plates:
            raise ValueError(
                "Expected discrete latent sites in plates for predictions; got observations of"
                f" {', '.join(map(repr, sites))} that depend on one outside. Use"
                " `numpyro.infer.Predictive(model, mcmc.get_samples(), infer_discrete=True)`, which"
                " draws it from its posterior."
            )
    plate = longest_plate(structure)

    def simulated(trace: dict[str, Any]) -> dict[str, Rowwise]:
        return {name: _value(trace[name], plate) for name in structure.observed}

    return _over_rows(structure, args, kwargs, draws, simulated, rows, False, key, latents)


def name_of(sites: tuple[str, ...]) -> str:
    """Return the name of the joint density of some observed sites."""
    return "+".join(sites)


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
    latents: dict[str, Rowwise] | None = None,
    *,
    bounded: bool = True,
    all_states: bool = False,
) -> dict[str, np.ndarray]:
    arrays, rebuild = split_arguments(args, kwargs)
    key = jax.random.key(0) if key is None else key
    axes: dict[str, int | None] = {}
    plate, latents = longest_plate(structure), latents or {}

    def one_draw(
        arrays: list[Any], indices: dict[str, jax.Array], draw: dict[str, Any], key: jax.Array
    ) -> dict[str, Any]:
        args, kwargs = rebuild(arrays)
        model = structure.model if condition else handlers.uncondition(structure.model)
        model = with_minibatch(model, structure.fixed, indices, key)
        if all_states:
            model = enumerated(model, structure.enumeration)
        trace = handlers.trace(handlers.substitute(model, data=draw)).get_trace(*args, **kwargs)
        result = read(trace)
        axes.update({name: found.axis for name, found in result.items()})
        return {name: found.values for name, found in result.items()}

    count = jax.tree.leaves(draws)[0].shape[0] if draws else 1
    keys = jax.random.split(key, count)
    whole = {name: jnp.arange(p.size) for name, p in structure.plates.items()}
    if plate is not None and rows is not None:
        whole[plate] = jnp.asarray(rows)
    conditioned = draws | {name: found.values for name, found in latents.items()}
    first = jax.tree.map(lambda x: x[0], (conditioned, keys))
    shapes = jax.eval_shape(one_draw, arrays, whole, *first)
    if bounded:
        check_size(sum(s.size * s.dtype.itemsize for s in shapes.values()), count)
    results = {n: np.empty((count, *s.shape), s.dtype) for n, s in shapes.items()}

    @jax.jit
    def block(arrays: list[Any], indices: dict[str, jax.Array], draws: Any, keys: Any) -> Any:
        return jax.lax.map(lambda pair: one_draw(arrays, indices, *pair), (draws, keys))

    rows_at_once = max(1, ROWS // (structure.enumeration.states if all_states else 1))
    wanted = jnp.zeros(1, jnp.int32) if plate is None else whole[plate]
    pairs = [(r, d) for r in blocks(len(wanted), rows_at_once) for d in blocks(count, DRAWS)]
    # Short computations show no progress bar.
    for place, some in tqdm(pairs, desc="whole data", delay=PATIENCE, leave=False):
        indices = whole if plate is None else whole | {plate: wanted[place]}
        keys_block = jax.vmap(lambda k, n=place.start: jax.random.fold_in(k, n))(keys[some])
        given = {name: x[some] for name, x in draws.items()}
        for name, (values, axis) in latents.items():
            given[name] = values[(some, *[slice(None)] * int(axis or 0), place)]
        found = block(arrays, indices, given, keys_block)
        for name, value in found.items():
            axis = axes[name]
            at = (some,) if axis is None else (some, *[slice(None)] * axis, place)
            results[name][at] = value
    return results


def blocks(length: int, size: int) -> list[slice]:
    """Return slices of one length that cover `length`; the last one may overlap another."""
    size = min(length, size)
    starts = range(0, length, size) if size else ()
    return [slice(min(s, length - size), min(s, length - size) + size) for s in starts]


def _value(site: dict[str, Any], plate: str | None) -> Rowwise:
    value, event = site["value"], len(site["fn"].event_shape)
    return Rowwise(value, _axis(site, plate, jnp.ndim(value) - event))


def _density(site: dict[str, Any], plate: str | None) -> Rowwise:
    density = site["fn"].log_prob(site["value"])
    return Rowwise(density, _axis(site, plate, jnp.ndim(density)))


def _axis(site: dict[str, Any], plate: str | None, batch: int) -> int | None:
    return next((batch + f.dim for f in site["cond_indep_stack"] if f.name == plate), None)


def check_size(each: int, count: int) -> None:
    """Raise an error if `count` draws of so many bytes are more than `MAX_BYTES`."""
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
