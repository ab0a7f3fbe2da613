"""What the groups hold beside draws: attributes, subsets, files."""

import platform

import arviz as az
import jax
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
import xarray as xr

import numpyro_sgmcmc
from numpyro_sgmcmc import SGLD, FixedPoint, SGHMCSplit, expectation
from numpyro_sgmcmc.results.groups import group_names
from tests.results.gaussian import (
    DATA,
    coarse_and_fine,
    decreasing,
    exact_gradients,
    momentum,
    run,
    subsampled,
    unjudged,
)


def test_attributes_say_how_a_run_was_made():
    found = unjudged(momentum(), attributes={"key": 3, "wall_time": 1.5, "of": "x"}).attrs
    expected = {
        "inference_library": "numpyro_sgmcmc",
        "inference_library_version": numpyro_sgmcmc.__version__,
        "arviz_version": az.__version__,
        "jax_version": jax.__version__,
        "python_version": platform.python_version(),
        "float_bits": 32,
        "model": "subsampled",
        "kernel": "SGHMCSplit",
        "dynamics": "Splitting",
        "gradient": "Plain()",
        "minibatch": "UniformMinibatch(replace=True)",
        "preconditioner": "Identity()",
        "noise_correction": "none",
        "step_size_schedule": "constant",
        "temperature": 1.0,
        "num_steps": 2,
        "subsample": "rows: 2 of 8",
        "num_chains": 2,
        "chain_method": "vectorized",
        "num_warmup": 20,
        "num_samples": 60,
        "thinning": 1,
        "num_transitions": 2 * 2 * 80,
        "num_gradient_evaluations": 2 * 2 * 80,
        "tuned": 0,
        "key": 3,
        "wall_time": 1.5,
        "of": "x",
    }
    assert {name: found.get(name) for name in expected} == expected
    assert found["step_size"] == pytest.approx(0.05) and found["friction"] == pytest.approx(3.0)
    assert all(isinstance(value, int | float | str | list) for value in found.values())


@pytest.mark.long
def test_attributes_name_schedule_and_levels():
    found = unjudged(decreasing()).attrs
    assert found["step_size_schedule"] == "polynomial(a=0.001, b=1.0, gamma=0.5)"
    assert "step_size" not in found
    found = unjudged(coarse_and_fine()).attrs
    assert found["levels"] == 2 and found["kernel"] == "SGRRLD"
    assert found["num_transitions"] == 2 * 70 * (1 + 2)


def test_subsets_of_rows_and_draws_are_parts_of_the_whole():
    mcmc = decreasing()
    labels = {"rows": [f"r{i}" for i in range(100)]}
    whole = unjudged(mcmc, log_likelihood=True, coords=labels)["log_likelihood"]["y"]
    some = unjudged(mcmc, log_likelihood=True, coords=labels, rows=[3, 70], draws=5)
    part = some["log_likelihood"]["y"]
    assert list(part["rows"].values) == ["r3", "r70"]
    assert list(part["draw"].values) == [0, 10, 20, 30, 40]
    np.testing.assert_allclose(part, whole.sel(rows=part["rows"], draw=part["draw"]), rtol=1e-5)
    drawn = unjudged(mcmc, posterior_predictive=True, rows=7)["posterior_predictive"]["y"]
    assert drawn.shape == (2, 50, 7) and len(np.unique(drawn["rows"])) == 7
    assert some["observed_data"]["y"].shape == (100,)


def test_subsets_that_there_are_not_are_refused():
    mcmc = decreasing()
    for options, message in (
        ({"rows": 101}, r"at most 100 `rows`, as in plate 'rows'; got 101"),
        ({"rows": [0, 100]}, r"`rows` between 0 and 99.*got 0 to 100"),
        ({"rows": [0.5]}, r"`rows` to be a number or integer positions"),
        ({"draws": 51}, r"at most 50 `draws`, as in a chain; got 51"),
    ):
        with pytest.raises(ValueError, match=message):
            unjudged(mcmc, log_likelihood=True, **options)
    whole = run(SGLD(exact_gradients, 0.01), DATA)
    with pytest.raises(ValueError, match=r"a subsampled plate for `rows`; got none"):
        unjudged(whole, log_likelihood=True, rows=3)


def test_loo_is_that_of_the_model():
    # With theta's draws of low variance elpd is near the log likelihood at the posterior mean.
    # Forty transitions a draw: Pareto's shape is found from draws that are nearly independent.
    kernel = SGHMCSplit(subsampled, 0.05, friction=3.0, gradient=FixedPoint(), num_steps=40)
    data = unjudged(run(kernel, DATA, draws=500), log_likelihood=True)
    found = az.loo(data)
    elpd = float(getattr(found, "elpd_loo", getattr(found, "elpd", np.nan)))
    lppd = np.log(np.exp(np.asarray(data["log_likelihood"]["x"])).mean((0, 1))).sum()
    assert lppd - 2.0 < elpd < lppd  # one parameter: less by about one


@pytest.mark.parametrize("kind", ["netcdf", "zarr"])
def test_files_keep_everything(kind, tmp_path):
    data = unjudged(coarse_and_fine(), log_likelihood=True)
    path = tmp_path / f"run.{kind}"
    if kind == "netcdf":
        data.to_netcdf(path)
        loaded = az.from_netcdf(path)
    else:
        # ArviZ 0.x leaves Zarr 3 to xarray; consolidated metadata are not part of its format.
        old = az.__version__.startswith("0.")
        (data.to_datatree() if old else data).to_zarr(path, consolidated=False)
        loaded = xr.open_datatree(path, engine="zarr", consolidated=False)
        loaded = az.data.io_datatree.from_datatree(loaded) if old else loaded
    assert set(group_names(loaded)) == set(group_names(data))
    for group in group_names(data):
        for name in data[group].data_vars:
            np.testing.assert_array_equal(loaded[group][name], data[group][name])
    attributes = loaded.attrs or loaded["posterior"].attrs
    key = attributes.pop("key")
    assert np.asarray(key).tolist() == data.attrs["key"] and len(key) == 2 * 2
    assert dict(attributes) == pytest.approx({n: v for n, v in data.attrs.items() if n != "key"})
    second = lambda sites: sites["w"] ** 2  # noqa: E731
    np.testing.assert_allclose(expectation(loaded, second), expectation(data, second))


@pytest.mark.long
def test_slashes_in_names_become_dots(tmp_path):
    def module(y):
        theta = numpyro.sample("net/kernel", dist.Normal(0.0, 1.0).expand([2]).to_event(1))
        with numpyro.plate("data/rows", len(y), subsample_size=4) as rows:
            numpyro.sample("y", dist.Normal(theta.sum(), 1.0), obs=y[rows])

    data = unjudged(run(SGLD(module, 1e-3), DATA), dims={"net/kernel": ["net/unit"]})
    assert data["posterior"]["net.kernel"].dims == ("chain", "draw", "net.unit")
    data.to_netcdf(tmp_path / "run.nc")
    loaded = az.from_netcdf(tmp_path / "run.nc")
    np.testing.assert_array_equal(
        loaded["posterior"]["net.kernel"], data["posterior"]["net.kernel"]
    )

    def twice(y):
        numpyro.sample("a.b", dist.Normal(0.0, 1.0))
        numpyro.deterministic("c", numpyro.sample("a/b", dist.Normal(y.mean(), 1.0)))

    with pytest.raises(ValueError, match=r"differ in more than '/' and '\.'; got 'a/b'"):
        unjudged(run(SGLD(twice, 1e-3), DATA))
