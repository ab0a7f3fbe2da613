"""What the driver does besides drawing: bar, Ctrl-C, stopping, memory, compilation."""

import os
import signal
import threading

import jax
import numpy as np
import pytest
from jax import monitoring

import numpyro_sgmcmc as sg
from numpyro_sgmcmc.driving import loop
from numpyro_sgmcmc.driving.keeper import AbstractKeeper
from numpyro_sgmcmc.driving.memory import DrawsInMemory
from numpyro_sgmcmc.driving.sampled import History, sampled
from numpyro_sgmcmc.results.entries import attributes_of
from tests.contract.problem import data, shared
from tests.driving.problem import bits, mcmc_of


@pytest.fixture
def at_draw(monkeypatch):
    """Send Ctrl-C to this process once so many draws of a chain are kept."""

    def arrange(count):
        add = DrawsInMemory.add

        def adding(self, step, draws):
            add(self, step, draws)
            if step.place <= count < step.place + step.draws:
                os.kill(os.getpid(), signal.SIGINT)

        monkeypatch.setattr(DrawsInMemory, "add", adding)

    return arrange


def test_ctrl_c_leaves_the_draws_so_far(at_draw, monkeypatch):
    whole = mcmc_of(shared("SGHMC"), num_samples=4_000)
    sg.run(whole, jax.random.key(0), *data())
    monkeypatch.setattr(loop, "GROWTH", 2)
    monkeypatch.setattr("numpyro_sgmcmc.driving.program.MOST_DRAWS", 64)
    at_draw(100)
    mcmc = mcmc_of(shared("SGHMC"), num_samples=4_000)
    handler = signal.getsignal(signal.SIGINT)
    with pytest.warns(UserWarning, match="interrupted by the user after"):
        sg.run(mcmc, jax.random.key(0), *data())
    assert signal.getsignal(signal.SIGINT) is handler
    count = mcmc.get_samples(True)["w"].shape[1]
    assert 100 < count < 4_000
    first = jax.tree.map(lambda x: x[:, :count], whole.get_samples(True))
    assert bits(mcmc.get_samples(True)) == bits(first)
    assert bits(mcmc.get_samples()["w"]) == bits(first["w"].reshape(-1, 2))
    assert mcmc.get_extra_fields()["diverging"].shape == (2 * count,)
    assert (mcmc.last_state.i == mcmc.num_warmup + count).all()
    mcmc.print_summary()
    attributes = attributes_of(sg.to_inference_data(mcmc, verdict=False))
    assert attributes["stopped"] == "interrupted"
    assert f"{count:,} of 4,000 draws" in attributes["stopped_because"]
    mcmc.run(jax.random.key(0), *data())
    assert "stopped" not in attributes_of(sg.to_inference_data(mcmc, verdict=False))


def test_ctrl_c_before_the_first_draw_is_an_interrupt(monkeypatch):
    monkeypatch.setattr(loop.Interrupt, "__enter__", lambda self: _asked(self))
    with pytest.raises(KeyboardInterrupt, match="before the first draw"):
        sg.run(mcmc_of(shared("SGHMC")), jax.random.key(0), *data())


def _asked(interrupt):
    interrupt.is_asked = True
    return interrupt


def test_a_second_ctrl_c_does_not_wait():
    with pytest.raises(KeyboardInterrupt), loop.Interrupt() as interrupt:
        signal.raise_signal(signal.SIGINT)
        assert interrupt.is_asked
        signal.raise_signal(signal.SIGINT)


def test_in_a_thread_signals_are_left_alone():
    mcmc, before = mcmc_of(shared("SGHMC")), signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=sg.run, args=(mcmc, jax.random.key(0), *data()))
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGINT) is before
    assert mcmc.get_samples()["w"].shape == (62, 2)


def test_a_second_run_compiles_nothing():
    mcmc, compiled = mcmc_of(shared("SGHMC"), num_samples=300), []

    def note(event, duration, **_):
        if event.endswith("backend_compile_duration"):
            compiled.append(event)

    sg.run(mcmc, jax.random.key(0), *data(), progress_bar=True)
    keys = [jax.random.key(seed) for seed in (1, 2)]
    monitoring.register_event_duration_secs_listener(note)
    try:
        sg.run(mcmc, keys[0], *data(), progress_bar=True)
        mcmc.post_warmup_state = mcmc.last_state
        sg.run(mcmc, keys[1], *data())
    finally:
        monitoring.clear_event_listeners()
    assert compiled == []


@pytest.mark.long
def test_an_edited_array_is_new_data():
    x, y = (np.array(array) for array in data())
    mcmc = mcmc_of(sg.SGLD(shared("SGLD").model, 1e-3))
    sg.run(mcmc, jax.random.key(0), x, y)
    y += 1
    sg.run(mcmc, jax.random.key(0), x, y)
    fresh = mcmc_of(sg.SGLD(shared("SGLD").model, 1e-3))
    sg.run(fresh, jax.random.key(0), x, y.copy())
    assert bits(mcmc.get_samples()) == bits(fresh.get_samples())


def test_the_bar_shows_numbers(capsys, monkeypatch):
    monkeypatch.setattr("numpyro_sgmcmc.driving.bar.BETWEEN", 0.0)
    sg.run(mcmc_of(shared("SGHMC"), num_samples=500), jax.random.key(0), *data(), progress_bar=True)
    shown = capsys.readouterr().err
    for word in ("sample", "510/510", "step size 1.00e-03", "0 diverged", "ESS", "R-hat"):
        assert word in shown


def test_draws_are_held_once():
    mcmc = mcmc_of(shared("SGHMC"), num_samples=500)
    sg.run(mcmc, jax.random.key(0), *data())
    grouped, flat = mcmc.get_samples(True)["w"], mcmc.get_samples()["w"]
    assert grouped.unsafe_buffer_pointer() == flat.unsafe_buffer_pointer()


@pytest.mark.parametrize(
    "condition",
    [
        pytest.param(sg.until(ess=50), marks=pytest.mark.long),
        pytest.param(sg.until(r_hat=1.5), marks=pytest.mark.long),
        sg.until(mcse={"w": 0.05}),
        pytest.param(sg.until(ess=50, r_hat=9), marks=pytest.mark.long),
    ],
)
def test_ends_when_it_is_precise_enough(condition):
    mcmc = mcmc_of(shared("SGHMC"), num_samples=20_000)
    sg.run(mcmc, jax.random.key(0), *data(), until=condition)
    draws = mcmc.get_samples(True)
    count = draws["w"].shape[1]
    assert 100 <= count < 20_000
    assert condition.reached(sampled(draws, 2_048), False).is_enough
    attributes = attributes_of(sg.to_inference_data(mcmc, verdict=False))
    assert attributes["stopped"] == "precise"
    again = mcmc_of(shared("SGHMC"), num_samples=20_000)
    sg.run(again, jax.random.key(0), *data(), until=condition)
    assert bits(again.get_samples()) == bits(mcmc.get_samples())


def test_says_that_it_was_not_precise_enough():
    mcmc = mcmc_of(shared("SGHMC"), num_samples=150)
    with pytest.warns(UserWarning, match=r"before `until` was met: smallest ESS"):
        sg.run(mcmc, jax.random.key(0), *data(), until=sg.until(ess=1e6))
    assert mcmc.get_samples(True)["w"].shape[1] == 150


def test_history_agrees_with_all_draws():
    rng = np.random.default_rng(0)
    draws = {"a": rng.normal(size=(2, 1_000)), "b": rng.normal(size=(2, 1_000, 300))}
    history, at = History(64), 0
    for size in (1, 2, 60, 1, 1, 63, 400, 472):
        history.add({n: x[:, at : at + size] for n, x in draws.items()})
        at += size
        expected = sampled({n: x[:, :at] for n, x in draws.items()}, 64)
        for name, array in history.draws().items():
            np.testing.assert_array_equal(array, expected[name])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"until": 400}, r"Expected `until` to be an instance such as sg.until"),
        ({"until": sg.until(mcse={"v": 0.1})}, r"sites of the draws, .*; got \['v'\]"),
    ],
)
def test_refuses(options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        sg.run(mcmc_of(shared("SGHMC")), jax.random.key(0), *data(), **options)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({}, "Expected a condition"),
        ({"r_hat": 1.0}, "Expected `r_hat` above 1"),
        ({"ess": -1}, "Expected `ess`"),
        ({"mcse": 0.1}, "Expected `mcse` to be a mapping"),
    ],
)
def test_until_refuses(bounds, message):
    with pytest.raises((TypeError, ValueError), match=message):
        sg.until(**bounds)


def test_until_wants_draws_of_equal_weight():
    for kernel, word in ((shared("SGRRLD"), "one walker"), (_decreasing(), "constant step size")):
        with pytest.raises(ValueError, match=word):
            sg.run(mcmc_of(kernel), jax.random.key(0), *data(), until=sg.until(ess=10))


def _decreasing():
    return sg.SGLD(shared("SGLD").model, sg.polynomial(1e-3, 1e3, 0.5))


def test_a_transformation_as_chain_method_is_refused():
    with pytest.raises(TypeError, match="Expected `chain_method`"):
        sg.run(mcmc_of(shared("SGLD"), chain_method=jax.vmap), jax.random.key(0), *data())


def test_the_interface_of_keepers_is_abstract():
    with pytest.raises(TypeError):
        AbstractKeeper()
