"""How one-time programs are compiled."""

import jax
import pytest

from numpyro_sgmcmc.adaptation import compiling
from numpyro_sgmcmc.adaptation.compiling import BRIEF, FEW_NUMBERS, LIGHT, compiler_options


@pytest.fixture
def anew():
    """Ask the compiler again what it knows, before and after."""
    compiling._light.cache_clear()
    yield
    compiling._light.cache_clear()


def test_small_models_are_compiled_lightly_and_large_ones_fully():
    assert compiler_options(FEW_NUMBERS, brief=False) == LIGHT
    assert compiler_options(FEW_NUMBERS, brief=True) == LIGHT | BRIEF
    assert compiler_options(FEW_NUMBERS + 1, brief=True) is None


def test_an_option_that_xla_no_longer_knows_is_left_out(anew, monkeypatch):
    monkeypatch.setattr(compiling, "LIGHT", {"xla_cpu_no_such_option": False})
    assert compiler_options(1, brief=True) == BRIEF
    jax.jit(lambda x: x + 1, compiler_options=compiler_options(1, brief=False))(1.0)


def test_other_errors_of_the_compiler_are_not_hidden(anew, monkeypatch):
    monkeypatch.setattr(compiling, "LIGHT", {"xla_cpu_use_fusion_emitters": "no such value"})
    with pytest.raises(jax.errors.JaxRuntimeError):
        compiler_options(1, brief=True)
