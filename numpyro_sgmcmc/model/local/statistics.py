"""What is averaged over the visits of a row: values, and probabilities of discrete ones."""

from typing import Any

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.model.local.sites import Local


def statistics(local: Local, values: jax.Array, discrete: jax.Array) -> jax.Array:
    """Return what is averaged for rows, (rows, w), from their values.

    In front are `local.moments` numbers whose squared deviations are kept too: continuous values,
    and discrete ones without probabilities. Behind are indicators of the values of the other
    discrete elements, whose averages are probabilities; that of 1 alone for binary ones.
    """
    numbers, indicators = [values], []
    for site, part in local.parts(discrete):
        if not site.probabilities:
            numbers.append(part)
        elif site.is_binary:
            indicators.append(part)
        else:
            found = part[..., None] == jnp.asarray(site.support, part.dtype)
            indicators.append(found.reshape(len(part), -1))
    return jnp.concatenate([x.astype(values.dtype) for x in (*numbers, *indicators)], axis=1)


def split_statistics(local: Local, rows: Any) -> dict[str, Any]:
    """Return averages by site, rows first, from an array (..., rows, w) or of its moments.

    A site with probabilities of several values has them along a further axis, the last.
    """
    found = local.split(rows[..., : local.width])
    start = local.width
    for has_probabilities in (False, True):
        for site in local.discrete:
            if bool(site.probabilities) != has_probabilities or start >= rows.shape[-1]:
                continue
            width = site.probabilities or site.size
            part, start = rows[..., start : start + width], start + width
            assert site.support is not None or not has_probabilities
            several = has_probabilities and not site.is_binary
            shape = (*site.shape, -1) if several else site.shape
            found[site.name] = part.reshape(*rows.shape[:-1], *shape)
    return found
