"""Names of dimensions: plates', `event_dims`, and what the user says."""

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
import pytest

from numpyro_sgmcmc import SGLD, summary
from tests.results.gaussian import run, unjudged

DATA = jnp.linspace(-1.0, 1.0, 12).reshape(6, 2)


def named(x, event_dims=("feature",), observed_dims=("column",)):
    """A vector site, a matrix of rows in a plate, and observations with an event dimension."""
    w = numpyro.sample("w", dist.Normal(0.0, 1.0).expand([2]).to_event(1), infer=infer(event_dims))
    with numpyro.plate("group", 3):
        numpyro.sample(
            "v",
            dist.MultivariateNormal(jnp.zeros(2), jnp.eye(2)),
            infer={"event_dims": ["feature"]},
        )
    numpyro.sample("u", dist.Normal(0.0, 1.0).expand([4]), infer={"event_dims": ["batch"]})
    with numpyro.plate("rows", 6, subsample_size=2) as rows:
        numpyro.sample(
            "x", dist.Normal(w, 1.0).to_event(1), obs=x[rows], infer=infer(observed_dims)
        )


def infer(event_dims):
    return {"event_dims": list(event_dims)}


@pytest.fixture(scope="module")
def finished():
    return run(SGLD(named, 1e-3), DATA, draws=4)


def test_a_model_names_its_event_dims(finished):
    data = unjudged(
        finished, log_likelihood=True, posterior_predictive=True, coords={"feature": ["a", "b"]}
    )
    assert data["posterior"]["w"].dims == ("chain", "draw", "feature")
    assert data["posterior"]["v"].dims == ("chain", "draw", "group", "feature")
    assert data["posterior"]["u"].dims == ("chain", "draw", "batch")
    assert data["observed_data"]["x"].dims == ("rows", "column")
    assert data["posterior_predictive"]["x"].dims == ("chain", "draw", "rows", "column")
    assert data["log_likelihood"]["x"].dims == ("chain", "draw", "rows")
    assert {"w[a]", "v[0, b]", "u[3]"} <= set(summary(data).index)


def test_what_the_user_names_goes_first(finished):
    data = unjudged(finished, dims={"w": ["coefficient"], "v": ["g"]})
    assert data["posterior"]["w"].dims == ("chain", "draw", "coefficient")
    assert data["posterior"]["v"].dims == ("chain", "draw", "g", "v_dim_1")
    assert data["posterior"]["u"].dims == ("chain", "draw", "batch")


def test_names_that_do_not_fit_are_refused(finished):
    with pytest.raises(ValueError, match=r"at most 1 name\(s\) for 'w' in `dims`.*got 2: \['a', "):
        unjudged(finished, dims={"w": ["a", "b"]})
    with pytest.raises(ValueError, match=r"Expected 2 labels for dimension 'feature'.*got 3"):
        unjudged(finished, coords={"feature": ["a", "b", "c"]})
    for event_dims, message in (
        (("a", "b"), r"`event_dims` of site 'w' to name its 1 dimension\(s\).*got 2: \['a', 'b'\]"),
        ((3,), r"`event_dims` of site 'w' to be a list of names such as \['feature'\]; got \[3\]"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            run(SGLD(named, 1e-3), DATA, event_dims)
    with pytest.raises(ValueError, match=r"different names .* of site 'x'; got \['rows', 'rows'\]"):
        run(SGLD(named, 1e-3), DATA, ("feature",), ("rows",))


def test_a_dimension_is_not_called_as_a_site():
    data = unjudged(run(SGLD(named, 1e-3), DATA, ("w",), draws=4))
    assert data["posterior"]["w"].dims == ("chain", "draw", "w_dim")
