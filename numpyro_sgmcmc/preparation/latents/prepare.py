"""The stages of the preparation of a run with latents of rows."""

from typing import Any

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.latents import LatentTable
from numpyro_sgmcmc.preconditioner import Dense, Identity
from numpyro_sgmcmc.preparation.axes import principal_axes
from numpyro_sgmcmc.preparation.kinks import Typical
from numpyro_sgmcmc.preparation.latents.approach import approached
from numpyro_sgmcmc.preparation.latents.checks import check_options, is_matrix_formed
from numpyro_sgmcmc.preparation.latents.choosing import Given, chosen_by_windows
from numpyro_sgmcmc.preparation.latents.fit import fitted
from numpyro_sgmcmc.preparation.latents.relax import relaxed
from numpyro_sgmcmc.preparation.latents.settle import check_independence, settled
from numpyro_sgmcmc.preparation.latents.starts import walkers_of
from numpyro_sgmcmc.preparation.limits import limits_of
from numpyro_sgmcmc.preparation.noise import silence
from numpyro_sgmcmc.preparation.options import Options
from numpyro_sgmcmc.preparation.prepared import Prepared
from numpyro_sgmcmc.preparation.request import Request
from numpyro_sgmcmc.preparation.target import Target, is_traced
from numpyro_sgmcmc.state import Tuned


def prepare_with_latents(target: Target, options: Options, request: Request) -> Prepared:
    """Return what a run starts from, for a model with latents of rows.

    Walkers settle from several starts by sweeps of an approximate Gibbs sampler, which show whether
    the latents are better centred or not, and whose Hessians give the preconditioner and the
    curvature. Unless the user gave a step size, windows of the run's own transitions follow, which
    measure the gradient noise and what the slowest coordinate needs. For more than 300 shared
    parameters see `fitted`, and `approached` with a step size.

    Raises:
        TypeError: if an option does not go with latents of rows.
        ValueError: likewise, if rows depend on each other, if JAX is tracing, or if no start is
            finite.
    """
    structure = target.structure
    check_options(options, structure)
    if is_traced((target.args, target.kwargs, request.init_params)):
        raise ValueError(
            "Expected a run outside `jax.jit` for a model with latents of rows; got one inside."
        )
    check_independence(target)
    key_settle, key = random.keys_of(jax.random.key(2), 2)
    if not is_matrix_formed(structure):
        if options.step_size is not None:
            return approached(target, key_settle, options, request)
        key_relax, key = random.keys_of(key, 2)
        fit, starts, weights = fitted(target, key_settle, options, request)
        linear, target = options.preconditioner or fit, target.partly_centred(weights)
        given, walkers = relaxed(target, key_relax, options, linear, starts)
        return chosen_by_windows(target, key, options, request, given, walkers)
    starts, hessians, weights = settled(target, key_settle, options, request)
    linear: Any = options.preconditioner
    if linear is None:
        linear = Identity() if options.step_size is not None else _root(hessians)
    curvature = typical(hessians, linear)
    nothing = jnp.zeros_like(curvature.largest)
    limits = limits_of(options.dynamics, curvature, nothing, structure.dimension, 1.0)
    if options.step_size is not None:
        friction = None
        if options.dynamics.needs_friction:
            # Keeps exp(-D h) above 1/e, as in `complete`.
            friction = jnp.minimum(limits.dynamics.friction, 1.0 / options.step_size(0))
        assert options.num_steps is not None
        first = starts.waiting(options.num_steps * request.num_warmup)
        return Prepared(Tuned(None, friction, linear, LatentTable()), None, None, None, first)
    given = Given(LatentTable(), linear, curvature, silence(nothing, structure.dimension))
    target = target.partly_centred(weights)
    walkers = target.run(walkers_of, starts, optimise=False)
    del starts, hessians
    return chosen_by_windows(target, key, options, request, given, walkers)


def _root(hessians: jax.Array) -> Dense:
    """Return the map whose coordinates have the curvature 1 on average, given the latents."""
    axes = principal_axes(hessians.mean(0))
    return Dense(axes.root(jnp.abs(axes.curvatures)))


def typical(hessians: jax.Array, linear: Any) -> Typical:
    """Return the curvature of some Hessians, (m, d, d), in a map's coordinates."""
    half = jax.vmap(jax.vmap(linear.transpose))(hessians)
    whitened = jax.vmap(jax.vmap(linear.transpose))(jnp.swapaxes(half, 1, 2))
    largest = jnp.max(jnp.abs(jnp.linalg.eigvalsh(whitened)))
    traces = jnp.trace(whitened, axis1=1, axis2=2)
    return Typical(largest, jnp.mean(traces) / hessians.shape[1], jnp.std(traces))
