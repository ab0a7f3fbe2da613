"""Where chains start: checked positions, flat and finite."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.flatten_util import ravel_pytree
from numpyro import handlers
from numpyro.distributions import biject_to
from numpyro.infer import init_to_uniform

from numpyro_sgmcmc.cpu import threefry
from numpyro_sgmcmc.model import Structure, log_densities
from numpyro_sgmcmc.model.handlers import with_minibatch
from numpyro_sgmcmc.preparation import Target, View

MAX_TRIES = 100


def flatten_params(structure: Structure, params: dict[str, Any], what: str) -> jax.Array:
    """Return unconstrained values by site name as a flat position.

    Raises:
        TypeError: where `params` is not a dict.
        ValueError: where a site is missing, extra, misshapen or not finite.
    """
    check_params(structure, params, what)
    values = {
        name: jnp.asarray(params[name], prototype.dtype)
        for name, prototype in structure.prototype.items()
    }
    return ravel_pytree(values)[0]


def check_params(
    structure: Structure, params: Any, what: str, chains: tuple[int, ...] = ()
) -> None:
    """Check unconstrained values by site name against the model; `chains` is a leading shape."""
    if not isinstance(params, dict):
        raise TypeError(
            f"Expected `{what}` to be a dict of unconstrained values by site name; got"
            f" {type(params).__name__}."
        )
    expected = structure.prototype
    missing, extra = (
        sorted(expected.keys() - params.keys()),
        sorted(params.keys() - expected.keys()),
    )
    if missing or extra:
        raise ValueError(
            f"Expected `{what}` to name the latent sites {sorted(expected)}; got"
            f" {sorted(params)}: missing {missing}, not in the model {extra}."
        )
    for name, prototype in expected.items():
        shape = chains + prototype.shape
        if jnp.shape(params[name]) != shape:
            raise ValueError(
                f"Expected `{what}` of site {name!r} to have the unconstrained shape {shape}; got"
                f" {jnp.shape(params[name])}."
            )
        value = params[name]
        if not isinstance(value, Tracer) and not np.all(np.isfinite(value)):
            raise ValueError(
                f"Expected `{what}` of site {name!r} to be finite; got NaN or infinite entries."
            )


def draw_start(view: View, strategy: Callable, key: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return a flat position drawn by a NumPyro init strategy, and whether it is a finite start.

    Tries up to 100 times to find one.
    """
    flat = ravel_pytree(view.structure.prototype)[0]

    def propose(key: jax.Array) -> jax.Array:
        if strategy is init_to_uniform:
            return threefry.uniform(key, flat.shape, flat.dtype, minval=-2.0, maxval=2.0)
        return ravel_pytree(_from_strategy(view, strategy, key))[0]

    def attempt(carry: tuple) -> tuple:
        key, _, _, tries = carry
        key, key_start, key_batch = threefry.split(key, 3)
        position = propose(key_start)
        return key, position, is_finite_start(view, key_batch, position), tries + 1

    unfinished = lambda carry: ~carry[2] & (carry[3] < MAX_TRIES)  # noqa: E731
    first = (key, flat, jnp.zeros((), bool), jnp.zeros((), jnp.int32))
    return jax.lax.while_loop(unfinished, attempt, first)[1:3]


def is_finite_start(view: View, key: jax.Array, position: jax.Array) -> jax.Array:
    """Return whether a minibatch's potential and gradient are finite at a position."""
    energy, gradient = jax.value_and_grad(view.potential)(position, view.draw(key))
    return jnp.isfinite(energy) & jnp.all(jnp.isfinite(gradient))


def _from_strategy(view: View, strategy: Callable, key: jax.Array) -> dict[str, jax.Array]:
    structure = view.structure
    key_model, key_batch = threefry.split(key)
    model = with_minibatch(
        structure.model, structure.fixed, view.draw(key_batch).indices, key_model
    )
    model = handlers.substitute(model, substitute_fn=strategy)
    trace = handlers.trace(model).get_trace(*view.args, **view.kwargs)
    return {
        name: biject_to(trace[name]["fn"].support).inv(trace[name]["value"])
        for name in structure.prototype
    }


def check_start(
    target: Target, position: jax.Array, finite: bool, bad_arguments: list[str]
) -> None:
    """Say what is wrong with a start whose potential or gradient is not finite.

    Args:
        target: the model bound to its data.
        position: the start, flat.
        finite: whether a minibatch's potential and gradient are finite there.
        bad_arguments: arguments of the model that are not finite. NaN under a mask is fine, so with
            any the whole data decide.

    Raises:
        ValueError: names the sites to blame, and the arguments that are not finite.
    """
    if finite and not bad_arguments:
        return
    key = jax.random.key(1)
    view_gradient = _whole_gradient if bad_arguments else _minibatch_gradient
    energy, gradient = target.run(view_gradient, key, position)
    if finite and np.isfinite(energy) and np.all(np.isfinite(gradient)):
        return
    densities = target.run(_densities_over_blocks if bad_arguments else _densities, key, position)
    sites = [name for name, value in densities.items() if not np.isfinite(value)]
    by_site = target.structure.unravel(gradient)
    slopes = [name for name, value in by_site.items() if not np.all(np.isfinite(value))]
    found = []
    if sites:
        found.append(f"a log density that is not finite at site(s) {', '.join(map(repr, sites))}")
    if slopes:
        found.append(f"a gradient that is not finite for {', '.join(map(repr, slopes))}")
    found = found or ["values that overflow for some minibatches"]
    data = f" The data are not finite in {', '.join(bad_arguments)}." if bad_arguments else ""
    raise ValueError(
        f"Expected a finite potential and gradient at the start of the chain; got"
        f" {' and '.join(found)}.{data}"
        " Remove or mask non-finite rows, or pass `init_params` or an `init_strategy` inside the"
        " support."
    )


def check_starts(
    target: Target, starts: dict[str, Any], finite: Any, bad_arguments: list[str]
) -> None:
    """Refuse the worst of the chains' starts (or the one) where it is not finite.

    While JAX traces there is no number to judge by.

    Raises:
        ValueError: where it is not finite; see `check_start`.
    """
    if isinstance(finite, Tracer):
        return
    sound = np.asarray(finite)
    worst = int(np.argmin(sound))
    start = jax.tree.map(lambda z: z[worst], starts) if sound.ndim else starts
    check_start(target, ravel_pytree(start)[0], bool(sound.all()), bad_arguments)


def checked_start(
    target: Target,
    key: jax.Array,
    strategy: Callable,
    init_params: dict[str, Any] | None,
    single: bool,
    bad_arguments: list[str],
) -> jax.Array:
    """Return a finite flat position at which a search begins: the first chain's, or a drawn one.

    Raises:
        ValueError: where it is not finite; see `check_start`.
    """
    if init_params is None or isinstance(ravel_pytree(init_params)[0], Tracer):
        drawn = partial(_drawn, strategy)
        position, finite = target.run(drawn, key, name=(draw_start, strategy), brief=True)
    else:
        first = init_params if single else jax.tree.map(lambda x: x[0], init_params)
        position = flatten_params(target.structure, first, "init_params")
        finite = target.run(is_finite_start, key, position, brief=True)
    if not isinstance(finite, Tracer):
        check_start(target, position, bool(finite), bad_arguments)
    return position


def _drawn(strategy: Callable, view: View, key: jax.Array) -> tuple[jax.Array, jax.Array]:
    return draw_start(view, strategy, key)


def _minibatch_gradient(view: View, key: jax.Array, position: jax.Array) -> Any:
    return jax.value_and_grad(view.potential)(position, view.draw(key))


def _whole_gradient(view: View, key: jax.Array, position: jax.Array) -> Any:
    return view.value_and_grad(position)


def _densities(view: View, key: jax.Array, position: jax.Array) -> dict[str, jax.Array]:
    return log_densities(view.structure, view.args, view.kwargs, position, view.draw(key))


def _densities_over_blocks(view: View, key: jax.Array, position: jax.Array) -> dict[str, jax.Array]:
    return view.over(
        lambda batch: log_densities(view.structure, view.args, view.kwargs, position, batch)
    )
