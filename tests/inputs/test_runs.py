"""What cannot be sampled is refused before any sampling; what goes wrong later is reported."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

from numpyro_sgmcmc import (
    SGLD,
    SGLDFP,
    Dense,
    Diagonal,
    Plain,
    SGHMCSplit,
)
from tests.inputs.problem import X, Y, model, run

H = 1e-3
GOOD = {"w": jnp.zeros(2), "scale": jnp.zeros(())}
SPOILED = [
    ({"w": jnp.zeros(2)}, r"missing \['scale'\], not in the model \[\]"),
    (GOOD | {"v": jnp.zeros(1)}, r"missing \[\], not in the model \['v'\]"),
    (GOOD | {"w": jnp.zeros(3)}, r"site 'w' to have the unconstrained shape \(2,\); got \(3,\)"),
    (GOOD | {"w": jnp.array([0.0, jnp.nan])}, r"site 'w' to be finite; got NaN"),
]


@pytest.mark.parametrize(("params", "message"), SPOILED)
def test_init_params_are_checked(params, message):
    with pytest.raises(ValueError, match=rf"Expected `init_params` .*{message}"):
        run(SGLD(model, H), X, Y, init_params=params)


@pytest.mark.parametrize(("params", "message"), SPOILED)
def test_anchors_are_checked(params, message):
    with pytest.raises(ValueError, match=rf"Expected `anchor` .*{message}"):
        run(SGLDFP(model, H, anchor=params), X, Y)


def test_init_params_of_several_chains_are_checked():
    params = {"w": jnp.zeros((2, 3)), "scale": jnp.zeros(2)}
    with pytest.raises(ValueError, match=r"site 'w' .* shape \(2, 2\); got \(2, 3\)"):
        run(SGLD(model, H), X, Y, chains=2, init_params=params)
    with pytest.raises(TypeError, match=r"Expected `init_params` to be a dict .* got list"):
        run(SGLD(model, H), X, Y, init_params=[jnp.zeros(2)])


@pytest.mark.parametrize("batch", [0, -1, 41])
def test_subsample_must_fit_its_plate(batch):
    with pytest.raises(
        ValueError,
        match=rf"`subsample_size` of plate 'rows' to be between 1 and its size 40; got {batch}",
    ):
        run(SGLD(model, H), X, Y, batch=batch)


@pytest.mark.parametrize("batch", [True, 8.0, "8", float("nan"), jnp.asarray(8)])
def test_subsample_must_be_an_integer(batch):
    with pytest.raises(
        TypeError, match=r"`subsample_size` of plate 'rows' .* integer, or None .*; got"
    ):
        run(SGLD(model, H), X, Y, batch=batch)


@pytest.mark.parametrize(
    "kernel", [SGLD(model, H), pytest.param(SGHMCSplit(model), marks=pytest.mark.long)]
)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_non_finite_data_name_the_argument_and_the_site(kernel, bad):
    spoiled = Y.at[7].set(bad)
    with pytest.raises(
        ValueError, match=r"not finite at site\(s\) 'y'.*positional argument 1"
    ) as e:
        run(kernel, X, spoiled)
    assert "Remove or mask" in str(e.value)
    with pytest.raises(ValueError, match=r"argument 'x'"):
        run(kernel, x=X.at[3, 0].set(bad), y=Y)


def test_masked_missing_data_are_fine():
    def masked(x, y):
        w = numpyro.sample("w", dist.Normal(0.0, 1.0).expand([2]).to_event(1))
        with numpyro.plate("rows", x.shape[0], subsample_size=8) as i:
            seen = jnp.isfinite(y[i])
            with numpyro.handlers.mask(mask=seen):
                filled = jnp.where(seen, y[i], 0.0)
                numpyro.sample("y", dist.Normal(x[i] @ w, 1.0), obs=filled)

    draws = run(SGLD(masked, H), X, Y.at[7].set(jnp.nan)).get_samples()["w"]
    assert bool(jnp.all(jnp.isfinite(draws)))


def test_observation_outside_the_support_names_the_site():
    def bounded(y):
        rate = numpyro.sample("rate", dist.Gamma(1.0, 1.0))
        with numpyro.plate("rows", y.shape[0], subsample_size=40):
            numpyro.sample("wait", dist.Exponential(rate), obs=jnp.log(y))

    with pytest.raises(ValueError, match=r"'wait'"):
        run(SGLD(bounded, H), jnp.zeros(40))


def test_missing_arguments_of_the_model():
    with pytest.raises(TypeError, match=r"Expected the arguments of the model .*got 1 positional"):
        run(SGLD(model, H), X)
    with pytest.raises(TypeError, match=r"Expected the arguments of the model .*'z'"):
        run(SGLD(model, H), X, Y, z=3)


def test_type_errors_inside_the_model_stay_what_they_are():
    def faulty(y):
        level = numpyro.sample("level", dist.Normal(0.0, 1.0))
        numpyro.sample("y", dist.Normal(level, scael=1.0), obs=y)

    with pytest.raises(TypeError, match="'scael'") as caught:
        run(SGLD(faulty, H), Y)
    assert "arguments of the model" not in str(caught.value)


def test_latent_sites_in_a_subsampled_plate_only():
    def inside(y):
        with numpyro.plate("rows", y.shape[0], subsample_size=8) as i:
            level = numpyro.sample("level", dist.Normal(0.0, 1.0))
            numpyro.sample("y", dist.Normal(level, 1.0), obs=y[i])

    with pytest.raises(ValueError, match=r"outside the subsampled plate; got 'level' .*NUTS"):
        run(SGLD(inside, H), Y)


@pytest.mark.parametrize(
    ("preconditioner", "message"),
    [
        (Diagonal(jnp.ones(4)), r"3 unconstrained parameters; got an array of shape \(4,\)"),
        (Dense(jnp.eye(2)), r"3 unconstrained parameters; got an array of shape \(2, 2\)"),
        (Diagonal(jnp.array([1.0, jnp.inf, 1.0])), r"finite; got non-finite"),
        (Diagonal(jnp.array([1.0, -1.0, 1.0])), r"positive scales; got"),
    ],
)
def test_preconditioner_must_fit(preconditioner, message):
    with pytest.raises(ValueError, match=message):
        run(SGLD(model, H, preconditioner=preconditioner), X, Y)


@pytest.mark.parametrize("value", [float("nan"), -1.0, 0.0])
def test_schedule_must_start_positive(value):
    with pytest.raises(ValueError, match=r"Expected `step_size\(0\)` to be a positive, finite"):
        SGLD(model, lambda count: value * jnp.ones(()))


def test_anchor_far_from_the_mode_warns():
    def known_scale(x, y):
        w = numpyro.sample("w", dist.Normal(0.0, 1.0).expand([2]).to_event(1))
        with numpyro.plate("rows", x.shape[0], subsample_size=8) as i:
            numpyro.sample("y", dist.Normal(x[i] @ w, 0.5), obs=y[i])

    far = {"w": jnp.array([3.0, -3.0])}
    with pytest.warns(UserWarning, match=r"gradient does not vanish .*`anchor=` values"):
        run(SGLDFP(known_scale, 1e-5, anchor=far), X, Y)


def test_saddle_warns():
    def saddle(y):
        a = numpyro.sample("a", dist.Normal(0.0, 1.0))
        numpyro.factor("well", 3.0 * a**2 - a**4)
        with numpyro.plate("rows", y.shape[0], subsample_size=8) as i:
            numpyro.sample("y", dist.Normal(0.0 * a, 1.0), obs=y[i])

    with pytest.warns(UserWarning, match=r"curvature .* not positive.*site 'a'.*Reparametrise"):
        run(SGLDFP(saddle, H, anchor={"a": jnp.zeros(())}), Y)


@pytest.mark.long
def test_too_noisy_a_gradient_warns():
    rows = 50_000
    x = jax.random.normal(jax.random.key(2), (rows, 2))
    y = x @ jnp.array([1.0, -1.0]) + jax.random.normal(jax.random.key(3), (rows,))
    with pytest.warns(UserWarning, match=r"too short to be trusted. Use gradient=FixedPoint\(\)"):
        run(SGLD(model, gradient=Plain()), x, y)


def test_divergence_keeps_the_last_finite_state():
    kernel = SGLD(model, 0.5)
    mcmc = run(kernel, X, Y, draws=200, chains=2)
    diverging = np.asarray(mcmc.get_extra_fields(group_by_chain=True)["diverging"])
    draws = mcmc.get_samples(group_by_chain=True)
    assert diverging.any(axis=1).all()
    assert all(bool(jnp.all(jnp.isfinite(value))) for value in draws.values())
    stuck = np.flatnonzero(diverging[0, 1:]) + 1
    w = np.asarray(draws["w"][0])
    np.testing.assert_array_equal(w[stuck], w[stuck - 1])
    last = jax.tree.map(lambda leaf: leaf[0], mcmc.last_state)
    share = int(last.num_diverging) / int(last.i)
    assert int(last.num_diverging) == diverging[0].sum() and share > 0
    assert kernel.get_diagnostics_str(last) == f"step size 5.00e-01, diverged {share:.1%}"
