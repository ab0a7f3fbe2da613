"""How one-time programs are compiled."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import pytest

from numpyro_sgmcmc.cpu import compiling, gate
from numpyro_sgmcmc.cpu.compiling import (
    FEW_NUMBERS,
    LIGHT,
    MANY_NUMBERS,
    UNOPTIMISED,
    compiler_options,
)
from numpyro_sgmcmc.preparation import mode_search

KNOWN = {"xla_llvm_disable_expensive_passes": True}
"""An option that every XLA knows; whether it knows `LIGHT`'s depends on its version."""


@pytest.fixture
def light(monkeypatch):
    """Set `LIGHT`; the compiler is asked anew what it knows, here and in the tests after."""
    compiling._light.cache_clear()
    yield lambda options: monkeypatch.setattr(compiling, "LIGHT", options)
    compiling._light.cache_clear()


def knows(options: dict) -> bool:
    """Return whether XLA takes the options, as a compilation by hand tells."""
    try:
        jax.jit(lambda x: x - 1, compiler_options=options)(1.0)
    except jax.errors.JaxRuntimeError:
        return False
    return True


def test_small_models_are_compiled_lightly_and_large_ones_fully(light):
    light(KNOWN)
    assert compiler_options(FEW_NUMBERS, optimise=True) == KNOWN
    assert compiler_options(FEW_NUMBERS, optimise=False) == KNOWN | UNOPTIMISED
    assert compiler_options(FEW_NUMBERS + 1, optimise=True) is None
    assert compiler_options(MANY_NUMBERS, optimise=False) == KNOWN | UNOPTIMISED
    assert compiler_options(MANY_NUMBERS + 1, optimise=False) is None


def test_every_option_is_taken_that_this_xla_has():
    known = {name: value for name, value in LIGHT.items() if knows({name: value})}
    assert compiler_options(1, optimise=True) == known


def test_an_option_that_xla_does_not_know_is_left_out(light):
    light({"xla_cpu_no_such_option": False} | KNOWN)
    assert compiler_options(1, optimise=False) == KNOWN | UNOPTIMISED
    jax.jit(lambda x: x + 1, compiler_options=compiler_options(1, optimise=True))(1.0)


def test_other_errors_of_the_compiler_are_not_hidden(light):
    light({"xla_llvm_disable_expensive_passes": "no such value"})
    with pytest.raises(jax.errors.JaxRuntimeError, match="no such value"):
        compiler_options(1, optimise=False)


@pytest.mark.parametrize("dimension", [FEW_NUMBERS, FEW_NUMBERS + 1])
def test_long_searches_in_many_dimensions_are_optimised(dimension, monkeypatch):
    """Without optimisation Adam took twice as long with 17,498 parameters."""
    optimised = []

    def run(fn, *inputs, optimise=True, **_):
        optimised.append(optimise)
        return inputs[1]

    monkeypatch.setattr(mode_search, "refined", lambda target, position: position)
    target = SimpleNamespace(run=run)
    mode_search.find_mode(target, jax.random.key(0), jnp.zeros(dimension))
    assert optimised == [dimension > FEW_NUMBERS]


def test_plain_jax_is_compiled_without_options(monkeypatch):
    monkeypatch.setenv(gate.VARIABLE, "1")
    assert compiler_options(1, optimise=False) is None
