"""Mutable state of networks in a model: it is read, and a model that changes it is refused."""

from typing import Any

import jax
import jax.numpy as jnp
from numpyro.primitives import Messenger


class first_states(Messenger):
    """Record the values of `mutable` sites before the model changes them in place.

    Attributes:
        found: these values by site.
    """

    def __init__(self, fn: Any = None) -> None:
        super().__init__(fn)
        self.found: dict[str, Any] = {}

    def postprocess_message(self, msg: dict[str, Any]) -> None:
        """Copy the containers of a value; its arrays do not change."""
        if msg["type"] == "mutable" and msg["value"] is not None:
            self.found.setdefault(msg["name"], jax.tree.map(lambda leaf: leaf, msg["value"]))


def check_unchanged(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Raise an error if running the model changed a mutable site.

    Batch statistics of a minibatch make the density of a row depend on the other rows, and a key
    that a module keeps would give the same dropout at every step.

    Args:
        before: values before the model ran, by site.
        after: values afterwards.

    Raises:
        ValueError: if a value changed.
    """
    changed = [name for name, value in before.items() if not _equal(value, after[name])]
    if changed:
        raise ValueError(
            f"Expected a model that leaves its mutable state as it is; got one that changes"
            f" {changed[0]!r} when it runs, so that its density is not the same at each step. Use"
            " batch normalisation with averages that are kept (`use_running_average=True`) or"
            " layer normalisation. Switch dropout off (`deterministic=True`), or give it keys of"
            " `numpyro.prng_key()`, as Linen and Equinox modules take them."
        )


def _equal(a: Any, b: Any) -> bool:
    if jax.tree.structure(a) != jax.tree.structure(b):
        return False
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return all(bool(jnp.all(x == y)) for x, y in pairs)
