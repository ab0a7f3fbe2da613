"""A compiler that computes wrong numbers is refused."""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
import pytest

import numpyro_sgmcmc as sg
from numpyro_sgmcmc.cpu import soundness
from numpyro_sgmcmc.cpu.soundness import check_compiler


@pytest.fixture
def anew():
    """Let the compiler be tried anew, here and in the tests after."""
    soundness._is_sound.cache_clear()
    yield
    soundness._is_sound.cache_clear()


@pytest.mark.usefixtures("anew")
def test_the_compiler_of_these_tests_is_sound_inside_and_outside_of_programs():
    check_compiler()
    soundness._is_sound.cache_clear()
    jax.jit(lambda x: (check_compiler(), x)[1])(1.0)


@pytest.mark.usefixtures("anew")
@pytest.mark.parametrize("wrong", ["a part", "nan"])
def test_wrong_numbers_are_refused_before_a_run(monkeypatch, wrong):
    """As jaxlib 0.10.2 has them: some rows get the sums of others."""

    def product(x, y):
        found = x * jnp.sum(x * y, axis=-1, keepdims=True)
        return found.at[-1].set(found[0] if wrong == "a part" else jnp.nan)

    monkeypatch.setattr(soundness, "_product", product)

    def model(y):
        m = numpyro.sample("m", dist.Normal(0, 1))
        with numpyro.plate("rows", len(y), subsample_size=2) as rows:
            numpyro.sample("y", dist.Normal(m, 1), obs=y[rows])

    kernel = sg.SGLD(model, 1e-3, num_steps=1)
    with pytest.raises(RuntimeError, match=r"wrong numbers from jaxlib .*!=0\.10\.2"):
        kernel.init(jax.random.key(0), 1, None, (jnp.zeros(6),), {})
