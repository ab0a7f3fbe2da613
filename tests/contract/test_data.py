"""State belongs to the data that it was made for: other data are noticed, or prepared for anew."""

import pickle
import re
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import MCMC

from numpyro_sgmcmc import SGLDFP, RichardsonRomberg, SGHMCSplit, diagnose, to_inference_data
from numpyro_sgmcmc.model import fingerprint, glimpse
from tests.marks import briefly

ROWS, FAR = 60, 30.0
KERNELS = {
    "SGHMCSplit": lambda: SGHMCSplit(model),
    "SGLDFP": lambda: SGLDFP(model, 1e-3),
    "RichardsonRomberg(SGLDFP)": lambda: RichardsonRomberg(SGLDFP(model, 1e-3)),
}


def model(y, prior=100.0):
    theta = numpyro.sample("theta", dist.Normal(0.0, prior))
    with numpyro.plate("rows", ROWS, subsample_size=10) as rows:
        numpyro.sample("y", dist.Normal(theta, 1.0), obs=y[rows])


def data(seed=0):
    return np.random.default_rng(seed).normal(0.0, 1.0, ROWS).astype(np.float32)


def mcmc_of(kernel, samples=40, **options):
    options = {"num_warmup": 60, "num_chains": 2, "chain_method": "vectorized"} | options
    return MCMC(kernel, num_samples=samples, progress_bar=False, **options)


def mean_error(mcmc, y):
    """Distance of the draws' mean from the exact posterior mean, in posterior sds."""
    precision = ROWS + 1e-4
    draws = np.asarray(mcmc.get_samples()["theta"], np.float64)
    return abs(draws.mean() - y.sum() / precision) * np.sqrt(precision)


EDITED = list(product((False, True), repeat=3))
LONG = [(True, False, False), (False, True, True)]


@pytest.mark.parametrize(("pair", "same_mcmc", "inputs"), briefly(EDITED, [], LONG))
def test_an_array_edited_in_place_is_other_data(pair, same_mcmc, inputs):
    kernel, y = KERNELS["RichardsonRomberg(SGLDFP)" if pair else "SGLDFP"](), data()
    options = {"jit_model_args": inputs}
    mcmc = mcmc_of(kernel, **options)
    mcmc.run(jax.random.key(0), y)
    # 80 draws, of which 4 may be independent: 4 standard errors of 0.5 sd.
    assert mean_error(mcmc, y) < 2
    y += FAR
    mcmc = mcmc if same_mcmc else mcmc_of(kernel, **options)
    mcmc.run(jax.random.key(0), y)
    assert mean_error(mcmc, y) < 2
    diagnose(mcmc)


REFUSED = "Expected the data that this run was started with; got others"


CONTINUED = [*((name, {}) for name in KERNELS), ("SGLDFP", {"jit_model_args": True})]


@pytest.mark.parametrize(("name", "options"), briefly(CONTINUED, CONTINUED[1::2]))
def test_continuing_on_other_data_is_refused(name, options):
    mcmc, y = mcmc_of(KERNELS[name](), **options), data()
    mcmc.warmup(jax.random.key(0), y)
    with pytest.raises(ValueError, match=REFUSED):
        mcmc.run(jax.random.key(1), y + FAR)
    mcmc.run(jax.random.key(1), jnp.asarray(y))  # equal ones are the same data
    assert mean_error(mcmc, y) < 2
    y += FAR
    with pytest.raises(ValueError, match=REFUSED):
        mcmc.run(jax.random.key(1), y)


@pytest.mark.parametrize(
    "options",
    briefly([{}, {"jit_model_args": True}], []),
    ids=["constants", "inputs"],
)
def test_continuing_on_data_of_another_run_is_no_result(options):
    """The kernel knows both data sets; the state says which of them is its own."""
    kernel = SGHMCSplit(model)
    first, second = (mcmc_of(kernel, **options) for _ in range(2))
    first.warmup(jax.random.key(0), data())
    second.run(jax.random.key(0), data() + FAR)
    second.post_warmup_state = first.post_warmup_state
    second.run(jax.random.key(1), data() + FAR)
    assert np.all(np.isnan(second.get_samples()["theta"]))
    assert np.all(second.get_extra_fields()["diverging"])
    with pytest.raises(ValueError, match="Expected the data that the run was made with; got"):
        diagnose(second)


def untimed(found):
    """Return a verdict's sentence without the time that more draws take, which is measured."""
    return re.sub(r"together; about .*?\)", "together)", found.sentence)


@pytest.mark.long
def test_data_edited_after_a_run_do_not_judge_it():
    y = data()
    mcmc = mcmc_of(SGHMCSplit(model))
    mcmc.run(jax.random.key(0), y)
    diagnose(mcmc)
    y[ROWS // 2] += 1e-3
    with pytest.raises(ValueError, match="edited in place since"):
        to_inference_data(mcmc)


@pytest.mark.parametrize(
    "name",
    briefly(["SGLDFP", "SGHMCSplit", "RichardsonRomberg(SGLDFP)"], [], ["SGHMCSplit"]),
)
def test_each_of_two_runs_of_a_kernel_has_its_own_data(name):
    kernel = KERNELS[name]()
    first, second, alone = (mcmc_of(k, 200) for k in (kernel, kernel, KERNELS[name]()))
    for mcmc, y in ((first, data()), (second, data() + FAR), (alone, data())):
        mcmc.run(jax.random.key(0), y)
    found, wanted = diagnose(first), diagnose(alone)
    assert untimed(found) == untimed(wanted)
    described = [to_inference_data(m, verdict=False) for m in (first, alone)]
    np.testing.assert_array_equal(*(d["observed_data"]["y"].values for d in described))
    assert described[0].attrs.get("curvature") == described[1].attrs.get("curvature")


@pytest.mark.long
def test_a_run_can_be_judged_in_another_process():
    mcmc = mcmc_of(SGHMCSplit(model), 200)
    mcmc.run(jax.random.PRNGKey(0), data())  # JAX does not pickle typed keys
    copied = pickle.loads(pickle.dumps(mcmc))
    assert untimed(diagnose(copied)) == untimed(diagnose(mcmc))
    assert "wall_time" not in to_inference_data(copied, verdict=False).attrs


@pytest.mark.long
def test_a_longer_warm_up_is_run():
    kernel, y = SGHMCSplit(model, num_steps=1), data()
    for warmup, windows in ((0, 0), (60, 2), (700, 5), (60, 2)):
        kernel.init(jax.random.key(0), warmup, None, (y,), {})
        assert kernel.adaptation.windows == windows
    again = SGHMCSplit(model, num_steps=1)
    again.init(jax.random.key(0), 60, None, (y,), {})
    assert kernel.adaptation.step_size == again.adaptation.step_size


def test_nothing_is_prepared_twice_for_equal_data(monkeypatch):
    from numpyro_sgmcmc.kernels import memory

    calls, prepare = [], memory.prepare
    monkeypatch.setattr(memory, "prepare", lambda *a: calls.append(1) or prepare(*a))
    kernel = SGLDFP(model, 1e-3)
    for y in (data(), data(), jnp.asarray(data()), data() + 1, data()):
        kernel.init(jax.random.key(0), 5, None, (y,), {})
    assert len(calls) == 2


def test_fingerprints():
    y = data()
    same = [((y, 2.0), {}), ((y.copy(), 2.0), {}), ((jnp.asarray(y), jnp.asarray(2.0)), {})]
    assert len({fingerprint(*given) for given in same}) == 1
    assert len({int(glimpse(*given)) for given in same}) == 1
    edited = y.copy()
    edited[17] = np.nextafter(edited[17], np.float32(9))
    others = [
        ((edited, 2.0), {}),
        ((y, 2.5), {}),
        ((y[:-1], 2.0), {}),
        ((y.reshape(-1, 1), 2.0), {}),
        ((y, "two"), {}),
        ((y,), {"prior": 2.0}),
        ((-0.0 * y, 2.0), {}),
        ((0.0 * y, 2.0), {}),
        ((y, print), {}),
        ((y, None), {}),
    ]
    assert len({fingerprint(*given) for given in [*same, *others]}) == len(others) + 1


@pytest.mark.parametrize(
    "array",
    [
        np.arange(7, dtype=np.int32),
        np.linspace(0, 1, 100_003, dtype=np.float32),
        np.array([True, False]),
        np.arange(6, dtype=np.float16).reshape(2, 3),
        np.arange(5) + 2j,
        np.float64(2.5),
        np.zeros((0, 3), np.float32),
        jnp.arange(4, dtype=jnp.bfloat16),
    ],
    ids=lambda a: f"{a.dtype}{a.shape}",
)
def test_a_glimpse_is_the_same_inside_a_program(array):
    inside = jax.jit(lambda *args: jnp.asarray(glimpse(args, {})))(array, 1.5, True)
    assert inside == glimpse((array, 1.5, True), {})
    assert inside.dtype == jnp.uint32


def test_a_glimpse_sees_ends_and_middle():
    y = np.zeros(10_000, np.float32)
    seen = {int(glimpse((y,), {}))}
    for place in (0, -1):
        edited = y.copy()
        edited[place] = 1.0
        seen.add(int(glimpse((edited,), {})))
    everywhere = int(glimpse((y + 1,), {}))
    assert len(seen | {everywhere}) == 4
