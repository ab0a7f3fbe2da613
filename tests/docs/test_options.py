"""Docstrings of kernels name every option that they pass on."""

import inspect

import pytest

from numpyro_sgmcmc import kernels

ALL = set(inspect.signature(kernels.AbstractKernel.__init__).parameters) - {"self", "dynamics"}
PASSING = [
    name
    for name, kernel in vars(kernels).items()
    if inspect.isclass(kernel)
    and issubclass(kernel, kernels.AbstractKernel)
    and "options" in inspect.signature(kernel.__init__).parameters
]


@pytest.mark.parametrize("name", PASSING)
def test_options_that_are_passed_on_are_named(name):
    kernel = getattr(kernels, name)
    text = inspect.getdoc(kernel)
    said = text.partition("**options:")[2].partition("Raises:")[0]
    wanted = ALL - set(inspect.signature(kernel.__init__).parameters)
    if "_refuse_gradient" in inspect.getsource(kernel):
        wanted -= {"gradient"}
    assert {option for option in wanted if f"`{option}`" not in said} == set()


def test_all_kernels_but_the_pairs_pass_options_on():
    assert len(PASSING) == 8
