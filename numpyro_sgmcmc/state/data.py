"""A tag for the data of a state, and its comparison with the data of an iteration."""

from dataclasses import dataclass
from typing import Any, final

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from numpyro_sgmcmc.model import Fingerprint, glimpse
from numpyro_sgmcmc.pytree import as_pytree

UNKNOWN = 0
"""Stands for a checksum that could not be computed because JAX was tracing."""


@final
@as_pytree(static=("edition",))
@dataclass(frozen=True)
class DataTag:
    """Identifies the data from which a chain's anchor, settings and start were computed.

    Attributes:
        words: two checksums, (2,), uint32: of all entries, and of the few entries that a compiled
            program compares.
        edition: number of times that NumPy arrays had been edited in place before. It is static:
            NumPyro caches compiled programs by the identity of their arguments, and a new edition
            forces a new compilation.
    """

    words: jax.Array
    edition: int = 0


def tag_of(found: Fingerprint, args: tuple, kwargs: dict, edition: int) -> DataTag:
    """Return the tag of data with this fingerprint."""
    return DataTag(_words(found, args, kwargs), edition)


def is_made_for(tag: DataTag, found: Fingerprint, args: tuple, kwargs: dict) -> jax.Array:
    """Return whether a state with this tag was made for these data, shape ().

    If the data are inputs of a compiled program, only a few entries are compared.
    """
    words, made = _words(found, args, kwargs), tag.words
    if not isinstance(words, Tracer) and not isinstance(made, Tracer):
        made = np.asarray(made)  # On NumPy arrays no program is compiled for each operation.
    content = (made[0] == words[0]) | (made[0] == UNKNOWN) | (words[0] == UNKNOWN)
    return content & (made[1] == words[1])


def _words(found: Fingerprint, args: tuple, kwargs: dict) -> Any:
    seen = glimpse(args, kwargs)
    content = np.uint32(found.content if isinstance(found.content, int) else UNKNOWN)
    if isinstance(seen, Tracer):
        return jnp.stack([jnp.asarray(content), seen])
    return np.stack([content, seen])
