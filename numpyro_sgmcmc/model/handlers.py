"""Effect handlers that put a minibatch and a key into a NumPyro model."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from numpyro import handlers
from numpyro.primitives import Messenger


class minibatched(Messenger):
    """Set the indices of each plate named in `indices`; their number is arbitrary.

    The plate's subsample size is set to the number of indices, so that NumPyro scales by
    size / len(indices).

    Args:
        fn: the model.
        indices: integer arrays by plate name.
    """

    def __init__(self, fn: Callable | None, indices: dict[str, Any]) -> None:
        self.indices = indices
        super().__init__(fn)

    def process_message(self, msg: dict[str, Any]) -> None:
        """Set the value of a plate's message."""
        if msg["type"] == "plate" and msg["name"] in self.indices:
            indices = self.indices[msg["name"]]
            msg["value"] = indices
            msg["args"] = (msg["args"][0], indices.shape[0])


class resized(Messenger):
    """Change the subsample size of some plates, as if the model declared that size.

    Args:
        fn: the model.
        sizes: minibatch sizes by plate name.

    Raises:
        ValueError: when the model is run, if it has no plate of one of these names.
    """

    def __init__(self, fn: Callable | None, sizes: dict[str, int]) -> None:
        self.sizes = sizes
        self._plates: set[str] = set()
        super().__init__(fn)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the model, and check that it has the plates."""
        self._plates = set()
        result = super().__call__(*args, **kwargs)
        if unknown := sorted(self.sizes.keys() - self._plates):
            raise ValueError(
                f"Expected minibatch sizes of the model's plates {sorted(self._plates)}; got sizes"
                f" of {unknown}, which it does not have. Use the names of the plates."
            )
        return result

    def process_message(self, msg: dict[str, Any]) -> None:
        """Change the arguments of a plate's message before other handlers process it."""
        if msg["type"] == "plate":
            self._plates.add(msg["name"])
        if msg["type"] == "plate" and msg["name"] in self.sizes:
            size, count = msg["args"][0], self.sizes[msg["name"]]
            msg["args"] = (size, count)
            # As in `numpyro.plate`, the indices of a whole plate are not drawn.
            msg["value"] = jnp.arange(size) if count == size else None


class keys_used(Messenger):
    """Record whether the model requests a key that no value or handler provides."""

    def __init__(self, fn: Callable | None = None) -> None:
        self.any = False
        super().__init__(fn)

    def process_message(self, msg: dict[str, Any]) -> None:
        """Record the request of a key before it is answered."""
        if msg["type"] == "prng_key" and msg["value"] is None:
            self.any |= msg["kwargs"].get("rng_key") is None


class control_flow_used(Messenger):
    """Record whether the model has a `scan` or `cond` of NumPyro."""

    def __init__(self, fn: Callable | None = None) -> None:
        self.any = False
        super().__init__(fn)

    def process_message(self, msg: dict[str, Any]) -> None:
        """Record the message, which no trace shows."""
        self.any |= msg["type"] == "control_flow"


def with_minibatch(
    model: Callable, fixed: dict[str, Any], indices: dict[str, Any], key: jax.Array | None
) -> Callable:
    """Return the model with its fixed `param` and `mutable` values, a minibatch, and a key.

    `key` is None for models with a deterministic density.
    """
    model = minibatched(handlers.substitute(model, data=fixed), indices)
    return model if key is None else handlers.seed(model, key)
