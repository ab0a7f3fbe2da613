"""Bad arguments of a search are refused before anything is run."""

import jax
import numpyro
import numpyro.distributions as dist
import pytest

from numpyro_sgmcmc import SGLD, SGRRLD, RichardsonRomberg, polynomial, tune
from tests.inputs.problem import X, Y, model

KERNEL = SGLD(model)
KEY = jax.random.key(0)


def refused(error, match, kernel=KERNEL, budget=1.0, args=(X, Y), **options):
    with pytest.raises(error, match=match):
        tune(kernel, KEY, *args, budget=budget, **options)


@pytest.mark.parametrize("budget", [0.0, -1.0, float("nan"), float("inf")])
def test_budget_must_be_positive_and_finite(budget):
    refused(ValueError, r"Expected `budget` to be a positive, finite number", budget=budget)


@pytest.mark.parametrize("budget", ["1", None, True])
def test_budget_must_be_a_number(budget):
    refused(TypeError, r"Expected `budget` to be a positive number", budget=budget)


def test_kernel_must_be_of_one_walker():
    for kernel in (RichardsonRomberg(KERNEL), SGRRLD(model)):
        refused(TypeError, r"a single walker; got \w+\..*wrap the result", kernel=kernel)
    refused(TypeError, r"Expected `kernel` .*got the class SGLD", kernel=SGLD)
    refused(TypeError, r"Expected `kernel` .*such as SGLD\(model\)", kernel=model)
    refused(TypeError, "got one with a schedule", kernel=SGLD(model, polynomial(1e-3)))
    refused(ValueError, "positive temperature; got 0", kernel=SGLD(model, temperature=0.0))


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        (1e-3, TypeError, r"Expected `step_sizes` to be a list; got 0.001. Write \[0.001\]"),
        ([], ValueError, "at least one value"),
        ([1e-3, -1e-3], ValueError, "positive, finite number; got -0.001"),
        ([1e-3, "1"], TypeError, "positive number; got '1'"),
        ([1e-3, 1e-3], ValueError, "that differ"),
    ],
)
def test_step_sizes(values, error, message):
    refused(error, message, step_sizes=values)


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        (8, TypeError, r"Expected `subsample_sizes` to be a list; got 8"),
        ([], ValueError, "at least one value"),
        ([0], ValueError, "positive integer; got 0"),
        ([8.0], TypeError, "positive integer; got 8.0"),
        ([41], ValueError, r"plate 'rows' to be between 1 and its size 40; got 41"),
        ([8, {"rows": 8}], ValueError, "that differ"),
        ([{"columns": 8}], ValueError, r"plates \['rows'\]; got \['columns'\]"),
    ],
)
def test_subsample_sizes(values, error, message):
    refused(error, message, subsample_sizes=values)


@pytest.mark.long
def test_subsample_sizes_need_a_plate_and_its_name():
    refused(ValueError, "got none. Give a plate", args=(X, Y, None), subsample_sizes=[8])

    def crossed(y):
        level = numpyro.sample("level", dist.Normal())
        plate_a = numpyro.plate("a", 10, subsample_size=5, dim=-2)
        plate_b = numpyro.plate("b", 4, subsample_size=2, dim=-1)
        with plate_a as i, plate_b as j:
            numpyro.sample("y", dist.Normal(level, 1.0), obs=y[i[:, None], j])

    y = Y.reshape(10, 4)
    refused(
        TypeError,
        r"plates \['a', 'b'\]; got 3",
        kernel=SGLD(crossed),
        args=(y,),
        subsample_sizes=[3],
    )
    options = {"subsample_sizes": [{"a": 3}, {"b": 4}], "step_sizes": [1e-3]}
    found = tune(SGLD(crossed), KEY, y, budget=2e5, unit="gradients", **options)
    sizes = [{"a": 3, "b": 2}, {"a": 5, "b": 4}]
    assert found.subsample_size in sizes
    assert sorted(found.arms["subsample_size"], key=str) == sizes
    # A minibatch has a row for each pair, 6 and 20; the last of 400 draws may be missing.
    rows = found.arms["subsample_size"].map(lambda s: s["a"] * s["b"])
    short = 1e5 - rows * found.arms["transitions"]
    assert ((short >= 0) & (short <= 400 * rows)).all()


def test_unit_budget_and_model():
    refused(ValueError, 'to be "seconds" or "gradients"; got \'rows\'', unit="rows")
    refused(
        ValueError,
        r"at least 115 times as large; got one that allows 6 iterations for each arm",
        budget=1e3,
        unit="gradients",
    )
    refused(ValueError, "got none, so there is nothing to tune", kernel=SGLD(lambda: None), args=())
    refused(ValueError, "times as large", budget=1e-6)
