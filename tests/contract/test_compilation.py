"""What a second run costs.

Without a progress bar NumPyro 0.22 compiles its collecting loop anew in every `run`, for NUTS too:
the loop's body is a new `jit` object each time. So that one program is allowed, and nothing else;
with the progress bar's Python loop nothing at all is compiled again.
"""

import jax
import pytest
from jax import monitoring

from tests.contract.problem import SOME, data, mcmc_of, shared
from tests.marks import briefly

COMPILED = []


@pytest.fixture(scope="module", autouse=True)
def listener():
    def note(event, duration, **_):
        if event.endswith("backend_compile_duration"):
            COMPILED.append(event)

    monitoring.register_event_duration_secs_listener(note)
    yield
    monitoring.clear_event_listeners()


@pytest.mark.parametrize("name", SOME)
def test_second_run_with_a_progress_bar_compiles_nothing(name):
    mcmc = mcmc_of(shared(name), chains=1, jit_model_args=True)
    mcmc.progress_bar = True  # NumPyro turns it off under pytest-xdist
    keys = [jax.random.key(seed) for seed in range(3)]
    COMPILED.clear()
    mcmc.run(keys[0], *data())
    assert COMPILED
    COMPILED.clear()
    mcmc.run(keys[1], *data())
    assert not COMPILED
    mcmc.post_warmup_state = mcmc.last_state
    mcmc.run(keys[2], *data())
    assert not COMPILED


@pytest.mark.parametrize(
    "name", briefly(["SGHMCSplit", "RichardsonRomberg(SGLDFP)"], ["SGHMCSplit"])
)
def test_second_vectorised_run_compiles_the_loop_alone(name):
    mcmc = mcmc_of(shared(name), jit_model_args=True)
    keys = [jax.random.key(seed) for seed in range(2)]
    mcmc.run(keys[0], *data())
    COMPILED.clear()
    mcmc.run(keys[1], *data())
    assert len(COMPILED) == 1


@pytest.mark.parametrize("name", briefly(SOME, SOME[:2]))
def test_a_step_takes_new_data_as_an_input(name):
    kernel = shared(name)
    state = kernel.init(jax.random.split(jax.random.key(0), 2), 0, None, data(), {})
    traced = []

    @jax.jit
    def step(state, args):
        traced.append(args)
        return kernel.sample(state, args, {})

    for seed in (0, 1):
        state = step(state, data(seed))
    assert len(traced) == 1
