"""Programs that are compiled before they are wanted."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from numpyro_sgmcmc import SGLD, FixedPoint, Plain, SGHMCSplit
from tests.marks import briefly
from tests.oracles import linear
from tests.parts.test_warmup import TARGET, target_of

KEYS = jax.random.split(jax.random.key(0), 2)


@pytest.mark.long
@pytest.mark.parametrize("build", briefly([SGLD, SGHMCSplit], [SGHMCSplit]))
def test_an_adapting_start_compiles_nothing_twice(build):
    """What was foreseen is what runs: no program has to be compiled for inputs of another type."""
    kernel = build(linear.model)
    kernel.init(KEYS, 300, None, TARGET.args, {})
    programs, ahead = kernel.memory.target._programs, kernel.memory.target._ahead
    assert kernel.adaptation.windows >= 4
    assert len(ahead) == 11
    foreseen = {key for key, _ in ahead}
    assert {key for key, program in programs.items() if program._cache_size()}.isdisjoint(foreseen)
    for compiled in ahead.values():
        compiled.program.result()  # raises what the compiler raised


def test_other_inputs_than_foreseen_are_compiled_when_they_come():
    target = target_of(linear.model, *TARGET.args)
    shape = jax.ShapeDtypeStruct((3,), jnp.float32)

    def twice(view, x):
        return 2 * x

    assert target.ahead(twice, shape) == shape
    for x in (jnp.arange(3.0), jnp.arange(4.0), np.arange(3), 1.5):
        np.testing.assert_array_equal(target.run(twice, x), 2 * np.asarray(x))
    assert target._programs[twice]._cache_size() == 3
    assert jax.jit(lambda x: target.run(twice, x))(jnp.ones(3)).tolist() == [2.0, 2.0, 2.0]


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:Step size:UserWarning")
def test_a_larger_minibatch_is_advised_where_noise_limits_the_step_size():
    kernel = SGLD(linear.model, gradient=Plain(), noise_correction=False)
    kernel.init(KEYS, 0, None, (*TARGET.args[:3], 2), {})
    few = kernel.adaptation
    factor = float(few.batch_factor)
    assert factor > 10
    assert f"it could be {factor:.0f} times as large" in str(few)
    kernel.init(KEYS, 0, None, (*TARGET.args[:3], 200), {})
    assert kernel.adaptation.batch_factor == 1
    assert "Noise limits" not in str(kernel.adaptation)
    # Noise is inversely proportional to the minibatch, and relaxation to the noise that is allowed.
    relaxation = few.relaxation_steps / kernel.adaptation.relaxation_steps
    np.testing.assert_allclose(factor, relaxation, rtol=0.05)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:Step size:UserWarning")
def test_many_data_sets_are_mapped_over():
    """Under `vmap` over the data their arrays are traced, and the keys are not."""
    design, response, scale = (jnp.asarray(x) for x in TARGET.args[:3])

    def first(response):
        kernel = SGLD(linear.model, 1e-4, gradient=FixedPoint())
        return kernel.init(KEYS[0], 0, None, (design, response, scale, 20), {}).z["theta"]

    def adapted(response):
        # Noise that does not limit the step size: else concrete runs slow down its directions.
        kernel = SGLD(linear.model, gradient=Plain(), noise_correction=False)
        return kernel.init(KEYS[0], 0, None, (design, response, scale, 200), {}).step_size

    both = jnp.stack([response, response + 1.0])
    modes = jax.vmap(first)(both)
    np.testing.assert_allclose(modes[0], first(response), rtol=1e-3, atol=1e-4)
    assert (jnp.abs(modes[1] - modes[0]) > 1e-3).any()
    steps = jax.vmap(adapted)(both)
    np.testing.assert_allclose(steps[0], adapted(response), rtol=1e-2)
