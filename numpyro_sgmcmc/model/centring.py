"""Sites of effects that are centred: the scale of their prior depends on a latent site."""

from typing import Any, NamedTuple

import jax
import numpy as np
from numpyro import handlers

from numpyro_sgmcmc.model.arguments import as_jax_arrays
from numpyro_sgmcmc.model.dependence import sources_of
from numpyro_sgmcmc.model.handlers import control_flow_used
from numpyro_sgmcmc.model.location_scale import location_and_scale
from numpyro_sgmcmc.model.structure import Structure


class Centred(NamedTuple):
    """A site of effects, and the latent sites that its scale depends on."""

    site: str
    scales: tuple[str, ...]


def centred_sites(
    structure: Structure, values: dict[str, jax.Array], args: tuple, kwargs: dict
) -> list[Centred]:
    """Return the sites of several real effects whose prior's scale depends on a latent site.

    `numpyro.infer.reparam.LocScaleReparam` can write such a site non-centred.

    Args:
        structure: of the model.
        values: constrained values of one draw by latent site.
        args: the model's positional arguments.
        kwargs: its keyword arguments.
    """
    args, kwargs = as_jax_arrays(args, kwargs)
    key = jax.random.key(0) if structure.needs_key else None
    model = structure.without_discrete(structure.with_minibatch(structure.placeholder(), key))
    given = {name: values[name] for name in structure.prototype}

    def scales_of(given: dict[str, jax.Array]) -> dict[str, Any]:
        trace = handlers.trace(handlers.substitute(model, data=given)).get_trace(*args, **kwargs)
        found = {name: _scale(trace[name]) for name in given}
        return {name: scale for name, scale in found.items() if scale is not None}

    sources = sources_of(scales_of, given)
    return [Centred(name, tuple(sorted(found))) for name, found in sources.items() if found]


def _scale(site: dict[str, Any]) -> Any:
    """Return the scale of a site's prior, None if there is none or a single effect."""
    found = location_and_scale(site["fn"])
    return found[1] if found is not None and np.size(site["value"]) > 1 else None


def movable_sites(
    structure: Structure, values: dict[str, jax.Array], args: tuple, kwargs: dict
) -> tuple[str, ...]:
    """Return the sites of effects that can move in other `Coordinates`.

    These are centred sites whose location and scale are the same for every minibatch, and
    non-centred sites with an `Image`. A random density, discrete or row-wise latent sites, and
    NumPyro's control flow, are not supported.

    Args:
        structure: of the model.
        values: constrained values of one draw by latent site.
        args: the model's positional arguments.
        kwargs: its keyword arguments.
    """
    if structure.needs_key or structure.enumeration.dims:
        return ()
    if _has_control_flow(structure, values, args, kwargs):
        return ()
    non_centred = tuple(image.site for image in structure.images(args, kwargs))
    names = [found.site for found in centred_sites(structure, values, args, kwargs)]
    if not names:
        return non_centred
    args, kwargs = as_jax_arrays(args, kwargs)

    def parts_of(given: dict[str, Any]) -> dict[str, Any]:
        model = structure.with_minibatch(given["indices"], None)
        model = handlers.substitute(model, data=given["values"])
        trace = handlers.trace(model).get_trace(*args, **kwargs)
        return {name: location_and_scale(trace[name]["fn"]) for name in names}

    shown = {name: values[name] for name in structure.prototype}
    sources = sources_of(parts_of, {"values": shown, "indices": structure.placeholder()})
    return *(name for name in names if "indices" not in sources[name]), *non_centred


def _has_control_flow(
    structure: Structure, values: dict[str, jax.Array], args: tuple, kwargs: dict
) -> bool:
    """Return whether the model has a `scan` or `cond` of NumPyro, inside which sites are traced."""
    args, kwargs = as_jax_arrays(args, kwargs)
    seen: list[bool] = []

    def read(given: dict[str, jax.Array]) -> None:
        model = structure.with_minibatch(structure.placeholder(), None)
        watcher = control_flow_used(handlers.substitute(model, data=given))
        with handlers.block():
            watcher(*args, **kwargs)
        seen.append(watcher.any)

    jax.eval_shape(read, {name: values[name] for name in structure.prototype})
    return any(seen)
