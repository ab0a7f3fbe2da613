"""The data that a state was made for, and whether an iteration sees the same."""

from dataclasses import dataclass
from functools import partial
from typing import Any, final

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from numpyro_sgmcmc.model import Fingerprint, glimpse

UNKNOWN = 0
"""In place of a checksum that could not be taken, as JAX was tracing."""


@final
@partial(jax.tree_util.register_dataclass, data_fields=["words"], meta_fields=["edition"])
@dataclass(frozen=True)
class DataTag:
    """Identifies the data that anchor, numbers and start of a chain come from.

    Attributes:
        words: checksum of all entries, and of the few that a compiled program can afford to
            compare, (2,), uint32.
        edition: how often NumPy arrays had been edited in place before. It is static: NumPyro keeps
            compiled programs by the identity of their arguments, and another edition compiles
            anew.
    """

    words: jax.Array
    edition: int = 0


def tag_of(found: Fingerprint, args: tuple, kwargs: dict, edition: int) -> DataTag:
    """Return the tag of data with this fingerprint."""
    return DataTag(_words(found, args, kwargs), edition)


def is_made_for(tag: DataTag, found: Fingerprint, args: tuple, kwargs: dict) -> jax.Array:
    """Return whether a state with this tag was made for these data, shape ().

    Data that are inputs of a compiled program are compared by a few entries.
    """
    words = _words(found, args, kwargs)
    content = (tag.words[0] == words[0]) | (tag.words[0] == UNKNOWN) | (words[0] == UNKNOWN)
    return content & (tag.words[1] == words[1])


def _words(found: Fingerprint, args: tuple, kwargs: dict) -> Any:
    seen = glimpse(args, kwargs)
    content = np.uint32(found.content if isinstance(found.content, int) else UNKNOWN)
    if isinstance(seen, Tracer):
        return jnp.stack([jnp.asarray(content), seen])
    return np.stack([content, seen])
