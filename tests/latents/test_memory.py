"""Arrays of all rows are there once for each chain, and in part for further runs."""

import re
from itertools import permutations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.infer import MCMC

import numpyro_sgmcmc as sg
from numpyro_sgmcmc.kernels.memory import memory_of
from numpyro_sgmcmc.latents import LatentTable, PlainAtLatents
from numpyro_sgmcmc.model.local.checks import _two_rows
from numpyro_sgmcmc.preconditioner import Identity
from numpyro_sgmcmc.preparation.latents import Walkers, noise_at_latents
from numpyro_sgmcmc.preparation.latents.settle import WALKERS
from numpyro_sgmcmc.preparation.target import View
from tests.driving.problem import assert_identical
from tests.latents.problem import gaussian

ROWS, CHAINS = 1_009, 3
"""A prime number of rows, which no other array has."""
DATA = jnp.asarray(np.random.default_rng(0).normal(size=ROWS), jnp.float32)


def mcmc_of(chain_method="vectorized"):
    kernel = sg.SGHMCSplit(gaussian, 1e-4, num_steps=5)
    settings = {"num_chains": CHAINS, "chain_method": chain_method, "progress_bar": False}
    return MCMC(kernel, num_warmup=5, num_samples=5, **settings)


@pytest.fixture(scope="module")
def mcmc():
    found = mcmc_of()
    found.run(jax.random.key(0), DATA, 50)
    return found


def test_a_kernel_keeps_a_latent_and_its_scale_of_each_walker(mcmc):
    """And no table, moments or visits: two numbers of a row, where a chain has six."""
    assert mcmc.last_state.gradient.rows.shape == (CHAINS, ROWS, 6)
    kept = memory_of(mcmc.sampler).latest.walkers
    sizes = [leaf.size for leaf in jax.tree.leaves(kept) if leaf.size >= ROWS]
    assert sizes == [WALKERS * ROWS] * 2


@pytest.mark.parametrize("chain_method", ["vectorized", "sequential"])
def test_runs_go_on_from_states_that_the_user_keeps(chain_method):
    """`sg.run` does not copy the latents that a kernel has made for it, but those of a user."""
    mcmc, other = mcmc_of(chain_method), mcmc_of(chain_method)
    sg.run(mcmc, jax.random.key(0), DATA, 50, progress_bar=False)
    other.run(jax.random.key(0), DATA, 50)
    assert_identical(mcmc, other)
    kept = mcmc.last_state
    before = jax.tree.map(np.array, kept.gradient)
    for one, drive in ((mcmc, sg.run), (other, lambda m, *given, **_: m.run(*given))):
        one.post_warmup_state = one.last_state
        drive(one, jax.random.key(1), DATA, 50, progress_bar=False)
    assert_identical(mcmc, other)
    jax.tree.map(np.testing.assert_array_equal, before, kept.gradient)


def test_the_starts_of_a_second_run_are_those_of_the_first(mcmc):
    first = jax.tree.map(np.array, (mcmc.get_samples(), mcmc.last_state.gradient))
    mcmc.run(jax.random.key(0), DATA, 50)
    second = mcmc.get_samples(), mcmc.last_state.gradient
    jax.tree.map(np.testing.assert_array_equal, first, second)


@pytest.mark.parametrize("gradient", [LatentTable(), PlainAtLatents()], ids=["table", "plain"])
def test_the_noise_of_many_minibatches_is_measured_without_copies(gradient, mcmc):
    """A draw's moves are undone in place; a walker's rows are taken out of all once."""
    structure, scheme = mcmc.sampler.structure, mcmc.sampler.options.minibatch
    view, state = View(structure, scheme, (DATA, 50), {}), mcmc.last_state
    latents, width = state.gradient, 6
    if isinstance(gradient, PlainAtLatents):
        latents = jax.vmap(lambda one: one.having(table=one.table[:, :0]))(latents)
        width = 5
    walkers = Walkers(jax.vmap(structure.ravel)(state.z), latents)

    def noise(walkers, keys):
        return noise_at_latents(view, gradient, Identity(), walkers, keys)

    keys = jax.random.split(jax.random.key(0), CHAINS)
    program = jax.jit(noise).lower(walkers, keys).compile().as_text()
    loops = re.split(r"\n(?=%|ENTRY)", program)
    copies = [len(re.findall(rf"= \w+\[(?:1,)?{ROWS},{width}\]\S* copy\(", loop)) for loop in loops]
    inner = [n for loop, n in zip(loops, copies, strict=True) if "scatter" in loop]
    assert sum(copies) <= 2 and not any(inner), copies


def test_two_rows_differ():
    """All ordered pairs of three rows are seen in 200; a missing one has the probability 1e-15."""
    keys = jax.random.split(jax.random.key(0), 200)
    pairs = np.asarray(jax.vmap(lambda key: _two_rows(key, 3))(keys))
    assert {*map(tuple, pairs.tolist())} == set(permutations(range(3), 2))
