"""Chain methods: for explicit step sizes all give the same draws, chain by chain."""

import jax
import numpy as np
import pytest

from tests.contract.problem import (
    NAMES,
    SAMPLES,
    assert_same,
    data,
    mcmc_of,
    shared,
    vectorised,
)
from tests.marks import briefly


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("SGLD", "parallel"),
        pytest.param("ReplicaExchange(SGHMCSplit)", "parallel", marks=pytest.mark.long),
        pytest.param("ReplicaExchange(SGHMCSplit)", "sequential", marks=pytest.mark.release),
        pytest.param("SGHMCSplit(FixedPoint)", "sequential", marks=pytest.mark.long),
        pytest.param("RichardsonRomberg(SGHMCSplit)", "parallel", marks=pytest.mark.release),
        pytest.param("SVRGLD", "parallel", marks=pytest.mark.release),
        pytest.param("SAGALD", "sequential", marks=pytest.mark.long),
        pytest.param("SGLD", "sequential", marks=pytest.mark.release),
        pytest.param("SGHMCSplit(FixedPoint)", "parallel", marks=pytest.mark.release),
        pytest.param("RichardsonRomberg(SGHMCSplit)", "sequential", marks=pytest.mark.release),
    ],
)
def test_same_draws_as_vectorised(name, method):
    expected = vectorised(name)
    mcmc = mcmc_of(shared(name), chain_method=method)
    assert mcmc.chain_method == method  # NumPyro falls back to sequential where devices are short
    mcmc.run(jax.random.key(0), *data())
    assert_same(mcmc.get_samples(True), expected.get_samples(True))
    assert_same(mcmc.get_extra_fields(True), expected.get_extra_fields(True), rtol=2e-4)


QUICK = ["SGLD", "SGHMCSplit", "SGRRLD", "ReplicaExchange(SGHMCSplit)"]
"""Kernels whose dynamics and gradients other kernels have."""


@pytest.mark.parametrize("name", briefly(NAMES, QUICK))
def test_draws(name, capsys):
    mcmc = vectorised(name)
    draws = mcmc.get_samples(group_by_chain=True)
    assert {k: v.shape for k, v in draws.items()} == {
        "w": (2, SAMPLES, 2),
        "sigma": (2, SAMPLES),
        "signal": (2, SAMPLES, 2),
    }
    assert (draws["sigma"] > 0).all()
    np.testing.assert_allclose(draws["signal"], draws["w"] / draws["sigma"][..., None], rtol=1e-5)
    # No draw comes twice: chains move, and differ.
    flat = np.concatenate(draws["w"])
    assert len(np.unique(flat[:, 0])) == len(flat)
    assert not mcmc.get_extra_fields()["diverging"].any()
    mcmc.print_summary()
    assert "sigma" in capsys.readouterr().out


@pytest.mark.parametrize("name", briefly(["SGLD", "SGRRHMC"], ["SGLD"]))
def test_raw_keys(name):
    mcmc = mcmc_of(shared(name))
    mcmc.run(jax.random.PRNGKey(0), *data())
    assert_same(mcmc.get_samples(), vectorised(name).get_samples())
