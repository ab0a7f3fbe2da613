"""Conversion of a run of NumPyro's `MCMC` to a `Run`."""

from time import perf_counter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.infer import MCMC

from numpyro_sgmcmc.kernels import NumPyroKernel
from numpyro_sgmcmc.preparation import Target
from numpyro_sgmcmc.running.outcome import outcome_of
from numpyro_sgmcmc.running.run import Run
from numpyro_sgmcmc.running.sampler import AbstractSampler
from numpyro_sgmcmc.state import is_made_for


def run_of(mcmc: Any) -> Run:
    """Return a finished run of a kernel of this package.

    Its data are the arguments of `mcmc.run`, even if the kernel has been run on other data since.

    Raises:
        TypeError: if `mcmc` is not an `MCMC`, or its kernel is not from this package.
        ValueError: if it has not been run, or its data have been edited since.
    """
    if isinstance(mcmc, AbstractSampler):
        return mcmc.finished()
    kernel = _kernel_of(mcmc)
    state: Any = mcmc.last_state
    draws = mcmc.get_samples(group_by_chain=True)
    jax.block_until_ready((state, draws))
    target = _target_of(kernel, mcmc._args, mcmc._kwargs, state)
    outcome = outcome_of(mcmc)
    return Run(
        kernel=kernel,
        target=target,
        state=state,
        draws=draws,
        fields=mcmc.get_extra_fields(group_by_chain=True),
        adaptation=kernel.memory.adaptation_for(
            target.fingerprint, kernel.options, mcmc.num_warmup
        ),
        settings={
            "num_chains": mcmc.num_chains,
            "chain_method": mcmc.chain_method,
            "num_warmup": mcmc.num_warmup,
            "num_samples": mcmc.num_samples,
            "thinning": mcmc.thinning,
        },
        wall_time=outcome.wall_time if outcome else _wall_time(kernel, target, mcmc),
        outcome=outcome,
    )


def _kernel_of(mcmc: Any) -> NumPyroKernel:
    if not isinstance(mcmc, MCMC):
        raise TypeError(
            f"Expected a numpyro.infer.MCMC; got {type(mcmc).__name__}. Pass the MCMC itself."
        )
    if not isinstance(mcmc.sampler, NumPyroKernel):
        raise TypeError(
            f"Expected an MCMC with a kernel of numpyro_sgmcmc; got {type(mcmc.sampler).__name__}."
            " Use arviz.from_numpyro for NumPyro's own kernels."
        )
    if mcmc._states is None:
        raise ValueError("Expected an MCMC that has run; call `mcmc.run(key, ...)` first.")
    return mcmc.sampler


def _target_of(kernel: NumPyroKernel, args: tuple, kwargs: dict, state: Any) -> Target:
    """Return the model bound to the run's data, after a check that the state was made for them."""
    target = kernel.memory.target_for(kernel.model, kernel.options, args, kwargs)
    found = state.data, state.tuned.centring
    if np.ndim(state.i) == 1:
        found = jax.tree.map(lambda x: np.asarray(x)[0], found)
    tag, centring = found
    if not bool(is_made_for(tag, target.fingerprint, args, kwargs)):
        raise ValueError(
            "Expected the data that the run was made with; got others: either an array has been"
            " edited in place since, or the run was continued with other data. Its draws do not"
            " belong to these data. Run again with `mcmc.run(key, ...)`, and pass a copy of an"
            " array that you edit later."
        )
    return target.partly_centred(jax.tree.map(jnp.asarray, centring))


def _wall_time(kernel: NumPyroKernel, target: Target, mcmc: MCMC) -> float | None:
    memory = kernel.memory
    if memory.target is None or memory.target.fingerprint != target.fingerprint:
        return None
    # With sequential chains, `init` is called once for each chain.
    calls = memory.calls[-mcmc.num_chains if mcmc.chain_method == "sequential" else -1 :]
    return perf_counter() - calls[0] if calls else None
