"""Signatures and docstrings list every option: `help` and completion show all there is to set."""

import inspect
import re

import pytest

import numpyro_sgmcmc
from numpyro_sgmcmc import kernels
from tests.inputs.problem import model

PUBLIC = {name: getattr(numpyro_sgmcmc, name) for name in numpyro_sgmcmc.__all__}
OPEN_ENDED = {
    "run": "kwargs",  # the model's own arguments, as in NumPyro's `MCMC.run`
    "tune": "model_kwargs",  # the model's own arguments
    "summary": "options",  # arviz.summary's, which differ between ArviZ 0.23 and 1.x
}

OPEN_ENDED_METHODS = {"AsyncMCMC.run"}  # the model's own arguments

SHARED = {
    name: parameter
    for name, parameter in inspect.signature(kernels.AbstractKernel).parameters.items()
    if parameter.kind is parameter.KEYWORD_ONLY
}
NAMED = {
    name: kernel
    for name, kernel in PUBLIC.items()
    if inspect.isclass(kernel)
    and issubclass(kernel, kernels.AbstractKernel | kernels.AbstractRichardsonRomberg)
    and name not in ("RichardsonRomberg", "StaleGradient")  # they wrap a kernel with its options
}
OF_SGLD = "latent_move", "recentre"
WITH_GRADIENT = {name: ("gradient", *OF_SGLD) for name in ("SGLDFP", "SVRGLD", "SAGALD")}
FIXED = WITH_GRADIENT | dict.fromkeys(("SGRRLD", "SGRRHMC"), OF_SGLD)
"""Options that a kernel does not have: the gradient is its own, it has no latents of rows, or its
walkers move effects as the model has them."""
INVALID = {
    "gradient": "plain",
    "temperature": "warm",
    "minibatch": 100,
    "preconditioner": 3,
    "noise_correction": "full",
    "increments": "gaussian",
    "num_steps": 0,
    "max_num_steps": 0,
    "init_strategy": 3,
    "latent_move": "hmc",
    "recentre": "always",
}


def documented(thing):
    """Return the names that a docstring's `Args:` or `Attributes:` explain."""
    text = inspect.getdoc(thing) or ""
    sections = re.findall(r"^(?:Args|Attributes):\n((?:[ ]+.*\n?|\n)*)", text, re.MULTILINE)
    return {
        name.lstrip("*")
        for section in sections
        for name in re.findall(r"^    (\*{0,2}\w+): \S", section, re.MULTILINE)
    }


@pytest.mark.parametrize("name", PUBLIC)
def test_no_option_hides_behind_keywords(name):
    open_ended = {
        parameter.name
        for parameter in inspect.signature(PUBLIC[name]).parameters.values()
        if parameter.kind is parameter.VAR_KEYWORD
    }
    assert open_ended <= {OPEN_ENDED.get(name)}


@pytest.mark.parametrize("name", [n for n, thing in PUBLIC.items() if inspect.isclass(thing)])
def test_no_option_of_a_method_hides_behind_keywords(name):
    for attribute, method in inspect.getmembers(PUBLIC[name], inspect.isfunction):
        if attribute.startswith("_") or not method.__module__.startswith("numpyro_sgmcmc"):
            continue
        if f"{name}.{attribute}" in OPEN_ENDED_METHODS:
            continue
        kinds = {p.kind for p in inspect.signature(method).parameters.values()}
        assert inspect.Parameter.VAR_KEYWORD not in kinds, attribute


@pytest.mark.parametrize("name", PUBLIC)
def test_every_parameter_has_a_type_and_an_explanation(name):
    parameters = inspect.signature(PUBLIC[name]).parameters
    assert {n for n, p in parameters.items() if p.annotation is p.empty} == set()
    assert set(parameters) - documented(PUBLIC[name]) == set()


@pytest.mark.parametrize("name", NAMED)
def test_kernels_share_the_options_of_all_kernels(name):
    parameters = inspect.signature(NAMED[name]).parameters
    own = {n: p for n, p in parameters.items() if n in SHARED}
    assert own == {n: p for n, p in SHARED.items() if n not in FIXED.get(name, ())}


@pytest.mark.parametrize("option", SHARED)
@pytest.mark.parametrize("name", NAMED)
def test_every_option_reaches_the_kernel(name, option):
    """An invalid value is refused by name, so the option has been passed on."""
    own = {"dynamics": numpyro_sgmcmc.Langevin()} if name == "SGMCMC" else {}
    expected = "unexpected keyword" if option in FIXED.get(name, ()) else f"Expected `{option}`"
    with pytest.raises((TypeError, ValueError), match=expected):
        NAMED[name](model, 0.1, **own, **{option: INVALID[option]})


@pytest.mark.parametrize(
    "name", [n for n, k in NAMED.items() if "friction" in str(k.__init__.__annotations__)]
)
def test_friction_reaches_the_kernel(name):
    with pytest.raises(TypeError, match="Expected `friction`"):
        NAMED[name](model, 0.1, friction="much")
