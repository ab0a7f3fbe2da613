"""Bad arguments of a kernel are refused when it is made."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from numpyro_sgmcmc import (
    SAGA,
    SAGALD,
    SGHMC,
    SGLD,
    SGLDFP,
    SGMCMC,
    SGRRLD,
    ContiguousMinibatch,
    Diagonal,
    FixedPoint,
    Langevin,
    Plain,
    ReshuffledMinibatch,
    RichardsonRomberg,
    RMSProp,
    SGHMCSplit,
    SharedMinibatch,
    SweepMinibatch,
    UniformMinibatch,
    cyclical,
    polynomial,
)
from tests.inputs.problem import X, Y, model

NOT_POSITIVE = [-1.0, 0.0, float("nan"), float("inf"), -float("inf")]
NOT_A_NUMBER = ["0.1", True, jnp.ones(2), 1j, [0.1]]


@pytest.mark.parametrize("kernel", [SGLD, SGLDFP, SGHMC, SGHMCSplit, SGRRLD])
@pytest.mark.parametrize("value", NOT_POSITIVE)
def test_step_size_must_be_positive_and_finite(kernel, value):
    with pytest.raises(
        ValueError, match=r"Expected `step_size` to be a positive, finite number; got"
    ):
        kernel(model, value)


@pytest.mark.parametrize("value", NOT_A_NUMBER)
def test_step_size_must_be_a_number_or_a_function(value):
    with pytest.raises(TypeError, match=r"Expected `step_size` .* got .* None lets"):
        SGLD(model, value)


@pytest.mark.parametrize("kernel", [SGHMC, SGHMCSplit])
@pytest.mark.parametrize("value", NOT_POSITIVE)
def test_friction_must_be_positive_and_finite(kernel, value):
    with pytest.raises(
        ValueError, match=r"Expected `friction` to be a positive, finite number; got"
    ):
        kernel(model, 0.1, friction=value)


@pytest.mark.parametrize("value", [-0.5, float("nan"), float("inf")])
def test_temperature_must_not_be_negative(value):
    with pytest.raises(ValueError, match=r"Expected `temperature` to be a non-negative.*; got"):
        SGLD(model, 0.1, temperature=value)
    SGLD(model, 0.1, temperature=0)


@pytest.mark.parametrize(("name", "value"), [("temperature", "warm"), ("friction", "much")])
def test_numbers_must_be_numbers(name, value):
    with pytest.raises(TypeError, match=rf"Expected `{name}` to be .* number; got '{value}'"):
        SGHMCSplit(model, 0.1, **{name: value})


@pytest.mark.parametrize("name", ["num_steps", "max_num_steps"])
@pytest.mark.parametrize("value", [0, -3])
def test_numbers_of_steps_must_be_positive(name, value):
    with pytest.raises(ValueError, match=rf"Expected `{name}` to be a positive integer; got"):
        SGLD(model, 0.1, **{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [*(("num_steps", value) for value in (2.0, "2", True)), ("max_num_steps", None)],
)
def test_numbers_of_steps_must_be_integers(name, value):
    with pytest.raises(TypeError, match=rf"Expected `{name}` to be a positive integer; got"):
        SGLD(model, 0.1, **{name: value})


@pytest.mark.parametrize(
    ("name", "wrong", "expected"),
    [
        ("gradient", Plain, r"got the class Plain. Write Plain\(\)"),
        ("gradient", "plain", r"such as Plain\(\) or FixedPoint\(\); got 'plain'"),
        ("minibatch", UniformMinibatch, r"got the class UniformMinibatch"),
        ("minibatch", 100, r"such as UniformMinibatch\(replace=False\); got 100"),
        ("preconditioner", jnp.ones(3), r"such as Diagonal\(scale\); got"),
        ("init_strategy", 3, r"NumPyro init strategy such as init_to_median; got 3"),
    ],
)
def test_parts_must_be_parts(name, wrong, expected):
    with pytest.raises(TypeError, match=rf"Expected `{name}` to be .*{expected}"):
        SGLD(model, 0.1, **{name: wrong})


def test_dynamics_must_be_dynamics():
    with pytest.raises(TypeError, match=r"Expected `dynamics` .*got the class Langevin"):
        SGMCMC(model, 0.1, dynamics=Langevin)
    with pytest.raises(TypeError, match=r"Expected `dynamics` .*such as Langevin\(\); got None"):
        SGMCMC(model, 0.1, dynamics=None)


def test_model_must_be_a_function():
    with pytest.raises(
        TypeError, match=r"Expected `model` to be a NumPyro model, a function; got 3"
    ):
        SGLD(3)


def test_fixed_parts_are_no_arguments():
    with pytest.raises(TypeError, match=r"SGLDFP.* unexpected keyword argument 'gradient'"):
        SGLDFP(model, 0.1, gradient=Plain())
    with pytest.raises(TypeError, match="friction"):
        SGLD(model, 0.1, friction=1.0)
    with pytest.raises(TypeError, match="stepsize"):
        SGHMCSplit(model, stepsize=0.1)


def test_only_a_kernel_can_be_extrapolated():
    with pytest.raises(TypeError, match=r"Expected `kernel` .* got the class SGLD"):
        RichardsonRomberg(SGLD)
    with pytest.raises(TypeError, match=r"Expected `kernel` to be an instance such as SGLD"):
        RichardsonRomberg(SGRRLD(model, 0.1))


def test_anchor_must_be_a_dict():
    with pytest.raises(TypeError, match=r"Expected `anchor` to be a dict .* got list"):
        FixedPoint([1.0])


@pytest.mark.parametrize(
    "make",
    [
        partial(polynomial, -1.0),
        partial(polynomial, 1.0, 0.0),
        partial(polynomial, 1.0, 1.0, float("nan")),
        partial(cyclical, 0.0, 10),
        partial(cyclical, 1.0, 0),
    ],
)
def test_schedules_check_their_numbers(make):
    with pytest.raises(ValueError, match=r"Expected `\w+` to be a .*; got"):
        make()


def test_preconditioner_is_a_part():
    SGLD(model, 0.1, preconditioner=Diagonal(jnp.ones(3)))


@pytest.mark.parametrize("kind", ["full", True, 0.5])
def test_noise_correction_is_one_of_two(kind):
    with pytest.raises(ValueError, match=r'Expected `noise_correction` to be "diagonal", "dense"'):
        SGLD(model, 0.1, noise_correction=kind)
    SGLD(model, 0.1, noise_correction=False)


def test_noise_correction_needs_noise_that_is_there_and_stays():
    build = partial(SGLD, model, 0.1, noise_correction="dense")
    with pytest.raises(TypeError, match=r"constant preconditioner .* got RMSProp"):
        build(preconditioner=RMSProp())
    with pytest.raises(TypeError, match=r"independent minibatches .* got ReshuffledMinibatch"):
        build(minibatch=ReshuffledMinibatch())
    with pytest.raises(ValueError, match=r"positive temperature .* got 0"):
        build(temperature=0)


def numbers_of(kernel, *args, **options):
    """Give a kernel other numbers, and run it so far that the model is seen."""
    changed = kernel.with_numbers(*args, **options)
    changed.init(jax.random.key(0), 0, None, (X, Y), {})


@pytest.mark.parametrize(
    ("args", "options", "error", "words"),
    [
        ((-1.0,), {}, ValueError, "Expected `step_size` to be a positive"),
        ((np.nan,), {}, ValueError, "Expected `step_size` to be a positive, finite"),
        ((1e-3,), {"friction": -1.0}, ValueError, "Expected `friction` to be a positive"),
        ((1e-3,), {"friction": np.nan}, ValueError, "Expected `friction` to be a positive"),
        ((1e-3, {"rows": 0}), {}, ValueError, r"Expected `sizes\['rows'\]` to be a positive"),
        ((1e-3, {"rows": 2.0}), {}, TypeError, r"Expected `sizes\['rows'\]` to be a positive int"),
        ((1e-3, {"row": 3}), {}, ValueError, r"plates \['rows'\]; got sizes of \['row'\]"),
        ((1e-3, {"rows": 10**6}), {}, ValueError, "between 1 and its size"),
    ],
)
def test_numbers_are_checked(args, options, error, words):
    with pytest.raises(error, match=words):
        numbers_of(SGHMCSplit(model), *args, **options)


def test_a_friction_that_is_given_cannot_be_given_again():
    with pytest.raises(ValueError, match="Expected dynamics without a given friction"):
        SGHMCSplit(model, friction=2.0).with_numbers(1e-3, friction=3.0)
    with pytest.raises(ValueError, match="Expected dynamics without a given friction"):
        SGLD(model).with_numbers(1e-3, friction=3.0)


@pytest.mark.parametrize("scheme", [ReshuffledMinibatch(), SharedMinibatch(SweepMinibatch())])
def test_a_table_of_gradients_needs_independent_minibatches(scheme):
    for make in (partial(SAGALD, model), partial(SGHMC, model, 1e-3, gradient=SAGA())):
        with pytest.raises(TypeError, match=r"Expected independent minibatches with SAGA; got"):
            make(minibatch=scheme)
    SAGALD(model, minibatch=SharedMinibatch(ContiguousMinibatch()))
