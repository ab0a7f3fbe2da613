"""What is kept of a draw, as variables of the groups that ArviZ knows."""

from typing import Any, NamedTuple

import jax
import numpy as np

LENGTH_BYTES = 2 * 2**20
"""Bytes of the draws between two boundaries of files, all chains and variables together."""
MOST_LENGTH = 2**15
PREFIX = {"sample": "", "warmup": "warmup_"}
"""What stands before the names of the groups of each phase."""


class Variable(NamedTuple):
    """A variable of the results, in the order of the leaves that are kept of a draw.

    Attributes:
        field: the field of the state.
        group: the group of the results.
        name: name in the group.
        dtype: type of the entries.
        shape: shape of one draw of one chain.
        dims: names of the dimensions of that shape.
    """

    field: str
    group: str
    name: str
    dtype: str
    shape: tuple[int, ...]
    dims: tuple[str, ...]

    @property
    def draw_bytes(self) -> int:
        """Bytes of one draw of one chain."""
        return int(np.prod(self.shape, dtype=np.int64)) * np.dtype(self.dtype).itemsize


def layout_of(
    shapes: dict[str, Any], sample_field: str, dims: dict[str, list[str | None]]
) -> list[Variable]:
    """Return the variables of a run, in the order in which JAX flattens them.

    Args:
        shapes: shape and type of what is kept of one draw, by field, with an axis of chains in
            front.
        sample_field: the field that holds the draws.
        dims: names of dimensions by site.

    Raises:
        TypeError: if a field has a type that files cannot hold.
    """
    found = []
    for field in sorted(shapes):
        is_draws = field == sample_field
        for path, leaf in jax.tree_util.tree_leaves_with_path(shapes[field]):
            words = [_word(part) for part in path]
            name = ".".join(words) or field
            group = "posterior" if is_draws else "sample_stats" if not words else field
            if not isinstance(leaf.dtype, np.dtype) or leaf.dtype.kind not in "biuf":
                raise TypeError(
                    f"Expected fields of numbers with a `folder`; got {field!r} of type"
                    f" {leaf.dtype}. Leave it out of `extra_fields`."
                )
            shape = leaf.shape[1:]
            own = list(dims.get(name) or []) if is_draws else []
            own = (own + [None] * len(shape))[: len(shape)]
            named = tuple(_clean(d or f"{name}_dim_{i}") for i, d in enumerate(own))
            found.append(
                Variable(field, _clean(group), _clean(name), str(leaf.dtype), shape, named)
            )
    return found


def length_of(layout: list[Variable], chains: int) -> int:
    """Return the draws of each chain in a file of draws: a power of two."""
    size = chains * sum(variable.draw_bytes for variable in layout)
    wanted = max(1, min(LENGTH_BYTES // max(size, 1), MOST_LENGTH))
    return 2 ** int(np.log2(wanted))


def _word(part: Any) -> str:
    return str(getattr(part, "key", getattr(part, "name", getattr(part, "idx", part))))


def _clean(name: str) -> str:
    return name.replace("/", ".")
