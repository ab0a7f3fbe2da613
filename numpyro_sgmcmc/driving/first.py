"""The states with which a run begins, as NumPyro's `MCMC` makes them."""

from copy import copy
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from numpyro.infer import MCMC
from numpyro.util import is_prng_key

from numpyro_sgmcmc.driving.program import Layout, Program
from numpyro_sgmcmc.kernels import NumPyroKernel


def first_states(
    mcmc: MCMC,
    layout: Layout,
    program: Program,
    rng_key: Any,
    init_params: Any,
    args: tuple,
    kwargs: dict,
) -> Any:
    """Return the first states of all chains; a list of states if chains are sequential.

    If `mcmc.post_warmup_state` is set, the run goes on from there with the key.

    Raises:
        ValueError: if `init_params` has no leading axis of chains.
    """
    keys = keys_of(layout, rng_key)
    if mcmc.post_warmup_state is not None:
        bind(mcmc, layout, keys, args, kwargs)
        return _continued(mcmc, layout, keys)
    params = jax.tree.map(lambda x: lax.convert_element_type(x, jnp.result_type(x)), init_params)
    leaves = jax.tree.leaves(params)
    if layout.chains > 1 and leaves and jnp.shape(leaves[0])[:1] != (layout.chains,):
        raise ValueError(
            f"Expected `init_params` with a leading axis of {layout.chains} chains; got arrays of"
            f" shape {jnp.shape(leaves[0])}. Stack one start for each chain."
        )

    def init(given: tuple[Any, Any]) -> Any:
        key, start = given
        return mcmc.sampler.init(key, mcmc.num_warmup, start, model_args=args, model_kwargs=kwargs)

    if layout.is_sequential:
        each = [jax.tree.map(lambda x, i=i: x[i], (keys, params)) for i in range(layout.chains)]
        return [init(one) for one in each]
    if layout.is_mapped:
        return program.begun(init, (keys, params))
    return init((keys, params))


def bind(mcmc: MCMC, layout: Layout, keys: Any, args: tuple, kwargs: dict) -> None:
    """Let the kernel bind the model to the data, unless it has; nothing is computed."""
    if getattr(mcmc.sampler, "_sample_fn", None) is None:
        template(mcmc, layout, keys, args, kwargs)


def template(mcmc: MCMC, layout: Layout, keys: Any, args: tuple, kwargs: dict) -> Any:
    """Return shapes and types of the state that the kernel gets, for one chain if mapped.

    The kernel binds the model unless it has: NumPyro's kernels cannot do so twice.
    """
    kernel: Any = mcmc.sampler
    if getattr(kernel, "_sample_fn", None) is not None and not isinstance(kernel, NumPyroKernel):
        kernel = copy(kernel)
    one = keys if layout.is_vectorised or layout.chains == 1 else keys[0]

    def init(key: Any) -> Any:
        return kernel.init(key, mcmc.num_warmup, None, model_args=args, model_kwargs=kwargs)

    return jax.eval_shape(init, one)


def keys_of(layout: Layout, rng_key: Any) -> Any:
    """Return one key for each chain, or the key of the only chain."""
    if layout.chains > 1 and is_prng_key(rng_key):
        return jax.random.split(rng_key, layout.chains)
    return rng_key


def _continued(mcmc: MCMC, layout: Layout, keys: Any) -> Any:
    key = keys[0] if mcmc.sampler.is_ensemble_kernel else keys
    given: Any = mcmc.post_warmup_state
    state = given._replace(rng_key=key)
    if layout.is_sequential:
        return [jax.tree.map(lambda x, i=i: x[i], state) for i in range(layout.chains)]
    return state
