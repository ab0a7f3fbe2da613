"""Numbers of a row are kept side by side, bit by bit, and passes over rows write in place."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from numpyro_sgmcmc.latents.blocks import ROWS_AT_ONCE, in_blocks
from numpyro_sgmcmc.latents.columns import Columns, Row

SIZE = 5


def a_row(dtype):
    """Return rows with k = 2, m = 3, d = 4, w = 3 and v = 2, in which no number is like others."""
    numbers = iter(np.random.default_rng(0).normal(size=(6, SIZE, 4)))
    some = lambda *shape: np.resize(next(numbers), (SIZE, *shape)).astype(dtype)  # noqa: E731
    return Row(
        values=some(2),
        discrete=np.arange(3 * SIZE, dtype=np.int32).reshape(SIZE, 3) - 7,
        table=some(4),
        factor=some(2, 2),
        visits=np.array([0, 1, 2, 3, 2**31 - 1], np.int32),
        mean=some(3),
        square=some(2),
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_is_read_is_what_was_packed(dtype):
    with jax.enable_x64(dtype == "float64"):
        row = a_row(dtype)
        odd = [np.nan, -np.inf, -0.0, np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max]
        row.values[:, 0] = odd
        row = jax.tree.map(jnp.asarray, row)
        columns = Columns.of(row)
        packed = columns.packed(row)
        assert packed.shape == (SIZE, 2 + 3 + 4 + 4 + 1 + 3 + 2)
        for name, had, found in zip(Row._fields, row, columns.unpacked(packed), strict=True):
            assert (had.dtype, had.shape) == (found.dtype, found.shape), name
            assert np.asarray(had).tobytes() == np.asarray(found).tobytes(), name
        np.testing.assert_array_equal(packed[:, columns.visits], row.visits)
        both = columns.read(jnp.stack([packed, packed]), "factor")
        np.testing.assert_array_equal(both[1], row.factor)


@pytest.mark.parametrize("size", [1, ROWS_AT_ONCE, ROWS_AT_ONCE + 1, 2 * ROWS_AT_ONCE + 7])
def test_blocks_give_what_all_rows_together_give(size):
    def of_rows(x, n):
        return x * n[:, None], n + 1

    x, n = jnp.arange(2.0 * size).reshape(size, 2), jnp.arange(size)
    found, expected = jax.jit(lambda: in_blocks(of_rows, x, n))(), of_rows(x, n)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_blocks_have_one_program_and_no_copies():
    size = 2 * ROWS_AT_ONCE + 7
    shape = jax.ShapeDtypeStruct((size,), jnp.float32)
    program = jax.jit(lambda x: in_blocks(jnp.sin, x)).lower(shape).compile().as_text()
    assert len(re.findall(r" sine\(", program)) == 1
    inside = program[: program.index("\nENTRY ")]
    assert not re.search(rf"= f32\[{size}\]\S* copy\(", inside)
