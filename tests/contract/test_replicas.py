"""Replicas at several temperatures: what is refused, what is recorded, and what works with them."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import MCMC

from numpyro_sgmcmc import (
    SGLD,
    SGNHT,
    SVRGLD,
    ReplicaExchange,
    RichardsonRomberg,
    RMSProp,
    SGHMCSplit,
    SharedMinibatch,
    StaleGradient,
    diagnose,
    run,
    to_inference_data,
    tune,
)
from numpyro_sgmcmc.kernels.swapping import LogRatio, permutation, swapped
from numpyro_sgmcmc.state import no_swaps
from tests.contract.problem import (
    ANCHOR,
    BATCH,
    ROWS,
    assert_same,
    build,
    data,
    mcmc_of,
    model,
    shared,
    vectorised,
)

NAME = "ReplicaExchange(SGHMCSplit)"
PLAIN = SGLD(model, 1e-3)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: ReplicaExchange(SGLD, [1, 2]), TypeError, "an instance such as"),
        (lambda: ReplicaExchange(RichardsonRomberg(PLAIN), [1, 2]), TypeError, "of one walker"),
        (lambda: ReplicaExchange(StaleGradient(PLAIN, 1), [1, 2]), TypeError, "fresh gradients"),
        (
            lambda: ReplicaExchange(SGLD(model, 1e-3, preconditioner=RMSProp()), [1, 2]),
            TypeError,
            "constant preconditioner",
        ),
        (lambda: ReplicaExchange(PLAIN, 2.0), TypeError, "a sequence such as"),
        (lambda: ReplicaExchange(PLAIN, ["1", "2"]), TypeError, "temperatures"),
        (lambda: ReplicaExchange(PLAIN, [1]), ValueError, "at least two temperatures"),
        (lambda: ReplicaExchange(PLAIN, [1, 2, 2]), ValueError, "increasing temperatures"),
        (lambda: ReplicaExchange(PLAIN, [0, 1]), ValueError, "positive, finite"),
        (lambda: ReplicaExchange(PLAIN, [1, np.inf]), ValueError, "positive, finite"),
        (lambda: ReplicaExchange(PLAIN, [2, 4]), ValueError, "begin at the kernel's own, 1.0"),
        (
            lambda: ReplicaExchange(SGLD(model, 1e-3, temperature=0), [1, 2]),
            ValueError,
            "begin at the kernel's own, 0.0",
        ),
        (lambda: ReplicaExchange(PLAIN, [1, 2], swap_every=0), ValueError, "positive integer"),
        (lambda: ReplicaExchange(PLAIN, [1, 2], swap_minibatches=8), ValueError, "at least 32"),
        (lambda: StaleGradient(build(NAME), 1), TypeError, "`kernel` to be an instance"),
        (lambda: RichardsonRomberg(build(NAME)), TypeError, "`kernel` to be an instance"),
        (
            lambda: tune(build(NAME), jax.random.key(0), budget=1),
            TypeError,
            "Tune the kernel inside",
        ),
    ],
)
def test_refused_with_a_remedy(make, error, words):
    with pytest.raises(error, match=words):
        make()


def random_density(y):
    theta = numpyro.sample("theta", dist.Normal(0.0, 1.0))
    key = numpyro.prng_key()
    scale = 1.0 if key is None else 1.0 + 0.1 * jax.random.uniform(key)
    with numpyro.plate("rows", y.shape[0], subsample_size=2) as rows:
        numpyro.sample("y", dist.Normal(theta, scale), obs=y[rows])


def test_exact_energies_need_an_exact_density():
    y = jnp.arange(8.0)
    with pytest.raises(TypeError, match="swap_minibatches=32"):
        mcmc_of(ReplicaExchange(SGLD(random_density, 1e-3), [1, 2])).run(jax.random.key(0), y)
    noisy = ReplicaExchange(SGLD(random_density, 1e-3), [1, 2], swap_every=1, swap_minibatches=32)
    mcmc = mcmc_of(noisy)
    mcmc.run(jax.random.key(0), y)
    assert (mcmc.last_state.swaps.noise > 0).all()


def latents(y):
    theta = numpyro.sample("theta", dist.Normal(0.0, 1.0))
    with numpyro.plate("rows", y.shape[0], subsample_size=2) as rows:
        z = numpyro.sample("z", dist.Normal(theta, 1.0))
        numpyro.sample("y", dist.Normal(z, 1.0), obs=y[rows])


def test_latents_of_rows_are_refused():
    kernel = ReplicaExchange(SGHMCSplit(latents), [1, 2])
    with pytest.raises(TypeError, match="Expected a kernel of one walker"):
        mcmc_of(kernel).run(jax.random.key(0), jnp.arange(8.0))


def test_record_of_swaps():
    """Labels move with their positions, and pairs take turns."""
    swaps, places, key = no_swaps(4, jnp.float32), jnp.arange(4), jax.random.key(0)
    surely, never = LogRatio(jnp.full(3, np.inf)), LogRatio(jnp.full(3, np.nan))
    expected = [[1, 0, 3, 2], [1, 3, 0, 2], [3, 1, 2, 0], [3, 2, 1, 0], [2, 3, 0, 1]]
    for order in expected:
        places, swaps = swapped(key, surely, swaps, places)
        np.testing.assert_array_equal(places, order)
        np.testing.assert_array_equal(swaps.labels, order)
    places, swaps = swapped(key, never, swaps, places)
    np.testing.assert_array_equal(places, expected[-1])
    np.testing.assert_array_equal(swaps.proposed, [3, 3, 3])
    np.testing.assert_array_equal(swaps.accepted, [3, 2, 3])
    assert swaps.rounds == 6
    # Label 2 went to the top and came down. Label 3 only began there, and 1 never was there.
    assert swaps.round_trips == 1
    np.testing.assert_array_equal(permutation(jnp.array([True, False, True])), [1, 0, 3, 2])


@pytest.mark.long
def test_swap_every_is_in_transitions():
    every = {1: 8, 3: 2, 4: 2, 100: 0}
    for period, rounds in every.items():
        kernel = ReplicaExchange(SGLD(model, 1e-3, num_steps=2), [1, 2], swap_every=period)
        mcmc = mcmc_of(kernel)  # nine iterations, and none is due before the first
        mcmc.run(jax.random.key(0), *data())
        found = int(mcmc.last_state.swaps.rounds[0])
        assert found == {1: 8, 3: 8, 4: 4, 100: 0}[period], (period, rounds)
    assert ReplicaExchange(PLAIN, [1, 2]).swap_period({}) == 1
    plates = vectorised(NAME).sampler.structure.plates
    assert ReplicaExchange(PLAIN, [1, 2]).swap_period(plates) == -(-ROWS // BATCH)
    assert ReplicaExchange(PLAIN, [1, 2], swap_minibatches=40).swap_period(plates) == 40


@pytest.mark.long
@pytest.mark.parametrize(
    "kernel",
    [
        SGNHT(model, 1e-3, friction=5.0),
        SVRGLD(model, 1e-3, period=2),
        pytest.param(SGLD(model, 1e-3, minibatch=SharedMinibatch()), marks=pytest.mark.release),
        pytest.param(SGLD(model, 1e-3, noise_correction="diagonal"), marks=pytest.mark.release),
    ],
    ids=["thermostat", "renewed anchors", "shared minibatches", "noise correction"],
)
def test_kernels_inside(kernel):
    mcmc = mcmc_of(ReplicaExchange(kernel, [1.0, 1.5, 3.0], swap_every=1))
    mcmc.run(jax.random.key(0), *data(), init_params=_starts(2))
    state = mcmc.last_state
    assert not mcmc.get_extra_fields()["diverging"].any()
    assert np.isfinite(state.hot_positions).all()
    assert (np.ptp(np.asarray(state.hot_positions), axis=(0, 1)) > 0).all()
    if isinstance(kernel, SGNHT):
        np.testing.assert_allclose(state.hot.aux.temperature, [[1.5, 3.0]] * 2)
    if isinstance(kernel, SVRGLD):  # anchors are the replicas' own last positions
        assert (np.ptp(np.asarray(state.hot.gradient.position), axis=1) > 0).all()


def _starts(chains):
    return jax.tree.map(lambda x: jnp.broadcast_to(jnp.asarray(x), (chains, *np.shape(x))), ANCHOR)


def test_attributes_and_progress():
    mcmc = vectorised(NAME)
    found = to_inference_data(mcmc, verdict=False)
    attributes = found["posterior"].attrs
    assert attributes["replica_kernel"] == "SGHMCSplit"
    assert list(attributes["temperatures"]) == [1.0, 2.0, 4.0]
    assert attributes["swap_energies"] == "whole data" and attributes["swap_every"] == 2
    assert attributes["num_transitions"] == 3 * 2 * 9
    assert found["sample_stats"]["replica"].shape == (2, 6)
    one = jax.tree.map(lambda x: x[0], mcmc.last_state)
    words = shared(NAME).get_diagnostics_str(one)
    assert words.startswith("step size 1.00e-03, diverged 0.0%, swaps ")


@pytest.mark.long
def test_run_in_a_folder_goes_on_to_the_bit(tmp_path):
    folder = str(tmp_path / "replicas.run")
    whole = mcmc_of(build(NAME))
    run(whole, jax.random.key(0), *data(), folder=folder)
    assert_same(whole.get_samples(True), vectorised(NAME).get_samples(True), rtol=0, atol=0)
    other = ReplicaExchange(SGHMCSplit(model, 1e-3, friction=5.0), [1.0, 3.0, 4.0], swap_every=2)
    with pytest.raises(ValueError, match="temperatures"):
        run(mcmc_of(other), jax.random.key(0), *data(), folder=folder)


@pytest.mark.long
def test_a_run_that_was_stopped_goes_on():
    first = mcmc_of(shared(NAME), num_samples=2)
    first.run(jax.random.key(0), *data())
    state = first.last_state
    second = mcmc_of(build(NAME), num_samples=4)
    second.post_warmup_state = state
    second.run(state.rng_key, *data())
    found = [one.get_samples(True)["w"] for one in (first, second)]
    whole = vectorised(NAME).get_samples(True)["w"]
    np.testing.assert_array_equal(np.concatenate(found, 1), whole)


def well(y):
    theta = numpyro.sample("theta", dist.Normal(0.0, 1.0))
    with numpyro.plate("rows", y.shape[0], subsample_size=20) as rows:
        numpyro.sample("y", dist.Normal(theta, 1.0), obs=y[rows])


@pytest.mark.long
def test_untuned_run_and_verdict():
    """The kernel's own warm-up serves all replicas, and the verdict is on the coldest one."""
    y = jnp.asarray(np.random.default_rng(0).normal(size=200), jnp.float32)
    kernel = ReplicaExchange(SGHMCSplit(well), [1.0, 2.0])
    mcmc = MCMC(
        kernel,
        num_warmup=300,
        num_samples=4_000,
        num_chains=4,
        chain_method="vectorized",
        progress_bar=False,
    )
    mcmc.run(jax.random.key(0), y)
    assert diagnose(mcmc).calibrated
    assert (np.asarray(mcmc.last_state.swaps.rates) > 0.3).all()
    hot = np.asarray(mcmc.last_state.hot_positions)
    assert hot.shape == (4, 1, 1)
