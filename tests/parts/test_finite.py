"""Whether all numbers are finite, from a sum, against looking at each of them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from numpyro_sgmcmc.cpu.finite import MANY_NUMBERS, all_finite

LARGEST = float(np.finfo(np.float32).max)
INFINITE, NAN = float("inf"), float("nan")
CASES = {
    "finite": ((), True),
    "sum overflows": ((LARGEST,) * 3, True),
    "sum overflows to NaN": ((*(LARGEST,) * 3, *(-LARGEST,) * 3), True),
    "NaN": ((NAN,), False),
    "infinite": ((-INFINITE,), False),
    "of both signs": ((INFINITE, -INFINITE), False),
    "overflow and NaN": ((LARGEST, LARGEST, NAN), False),
}


def vector(size, special):
    filled = np.random.default_rng(0).normal(size=size).astype(np.float32)
    filled[size // 3 : size // 3 + len(special)] = special
    return jnp.asarray(filled)


@pytest.mark.parametrize("size", [50, MANY_NUMBERS + 1])
def test_each_number_counts(size):
    vectors = jnp.stack([vector(size, special) for special, _ in CASES.values()])
    expected = [is_finite for _, is_finite in CASES.values()]
    assert [bool(jax.jit(all_finite)(one)) for one in vectors] == expected
    assert jax.jit(jax.vmap(all_finite))(vectors).tolist() == expected


def test_numbers_of_a_long_vector_are_looked_at_in_a_branch():
    """Of several vectors they are looked at in any case, without a sum before."""
    program = str(jax.make_jaxpr(all_finite)(jnp.zeros(MANY_NUMBERS)))
    assert "cond[" in program and "reduce_sum" in program
    several = str(jax.make_jaxpr(jax.vmap(all_finite))(jnp.zeros((2, MANY_NUMBERS))))
    assert "cond[" not in several and "reduce_sum" not in several
