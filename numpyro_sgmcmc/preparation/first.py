"""The first state of each chain."""

from dataclasses import dataclass
from functools import partial
from typing import Any, final

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.latents import LatentState, LatentTable
from numpyro_sgmcmc.minibatch import uniform_rows
from numpyro_sgmcmc.preparation.latents.starts import begun
from numpyro_sgmcmc.preparation.options import Options
from numpyro_sgmcmc.preparation.params import flatten_params
from numpyro_sgmcmc.preparation.prepared import Prepared
from numpyro_sgmcmc.preparation.refusal import check_starts
from numpyro_sgmcmc.preparation.request import Request
from numpyro_sgmcmc.preparation.start import draw_start, is_finite_start
from numpyro_sgmcmc.preparation.target import Target, View
from numpyro_sgmcmc.state import DataTag, SGMCMCState, given_to_init


def first_states(
    target: Target, options: Options, prepared: Prepared, request: Request, tag: DataTag
) -> SGMCMCState:
    """Return the first state of each requested chain.

    Raises:
        ValueError: if a start is not finite; see `check_start`.
    """
    program = _FirstStates(options, request.is_single)
    inputs = (prepared._replace(adaptation=None), request.key, request.init_params, tag)
    placed = target.partly_centred(prepared.tuned.centring)
    states, finite = placed.run(program.run, *inputs, name=program.name(*inputs), optimise=False)
    if target.structure.dimension:
        check_starts(target, states.z, finite)
    return states


def compile_ahead(
    target: Target, options: Options, prepared: Prepared, request: Request, tag: DataTag
) -> None:
    """Begin to compile the program of `first_states`; `prepared` holds shapes only."""
    program = _FirstStates(options, request.is_single)
    inputs = (prepared._replace(adaptation=None), request.key, request.init_params, tag)
    target.ahead(program.run, *inputs, name=program.name(*inputs), optimise=False)


@final
@dataclass(frozen=True, eq=False)
class _FirstStates:
    """The program that makes first states."""

    options: Options
    is_single: bool

    def name(self, *inputs: Any) -> Any:
        """Return a name that is unique among the programs of a target."""
        return _FirstStates, self.is_single, jax.tree.structure(inputs)

    def run(
        self, view: View, prepared: Prepared, key: Any, init_params: Any, tag: DataTag
    ) -> tuple[SGMCMCState, jax.Array]:
        """Return the states, and whether their positions are finite starts."""
        fn = partial(_first_state, view, self.options, prepared, tag)
        first = None
        if prepared.walkers is not None:
            count, started = len(prepared.walkers.positions), partial(_begun, view, prepared)
            if self.is_single:
                first = started(_place(key, count))
            else:
                first = jax.lax.map(started, _places(key, count))
        return (fn if self.is_single else jax.vmap(fn))(key, init_params, first)


def _first_state(
    view: View,
    options: Options,
    prepared: Prepared,
    tag: DataTag,
    key: jax.Array,
    init_params: dict[str, Any] | None,
    first: tuple[jax.Array, LatentState] | None,
) -> tuple[SGMCMCState, jax.Array]:
    own_key, key_start, key_aux, key_batch, key_check = random.split(key, 5)
    structure, tuned = view.structure, prepared.tuned
    if first is None:
        position, finite = _start(view, options, prepared, key_start, key_check, init_params)
        gradient = tuned.gradient.init(view, position, prepared.anchor)
    else:
        position, gradient = first
        if init_params is not None:
            position = flatten_params(structure, init_params, "init_params")
        finite = jnp.ones((), bool)  # The preparation has checked it.
    dynamics = options.dynamics.with_friction(tuned.friction)
    aux = dynamics.init(key_aux, position, options.temperature)
    real = jnp.result_type(float)
    h = tuned.step_size if options.step_size is None else options.step_size(0)
    state = SGMCMCState(
        i=jnp.zeros((), jnp.int32),
        z=structure.unravel(position),
        rng_key=own_key,
        step_size=jnp.asarray(h, real),
        weight=jnp.zeros((), real),
        potential_energy=jnp.zeros((), real),
        diverging=jnp.zeros((), bool),
        num_diverging=jnp.zeros((), jnp.int32),
        aux=aux,
        gradient=gradient,
        minibatch=options.scheme(tuned).init(key_batch, structure.plates),
        tuned=tuned,
        preconditioner=tuned.preconditioner.init(position, options.temperature),
        kinetic_temperature=dynamics.kinetic_temperature(aux),
        given_keys=given_to_init(key, own_key),
        data=tag,
    )
    return state, finite


def _start(
    view: View,
    options: Options,
    prepared: Prepared,
    key: jax.Array,
    key_check: jax.Array,
    init_params: dict[str, Any] | None,
) -> tuple[jax.Array, jax.Array]:
    """Return a chain's first position, and whether it is finite.

    The position is `init_params` if they are given, else a draw of the Gaussian approximation if
    there is one, else a draw of the initialisation strategy.
    """
    if init_params is not None:
        position = flatten_params(view.structure, init_params, "init_params")
        return position, is_finite_start(view, key_check, position)
    approximation = prepared.approximation
    if approximation is None:
        return draw_start(view, options.init_strategy, key)
    finite = jnp.ones((), bool)  # The mode has been checked already.
    if approximation.spread is None:
        return approximation.centre, finite
    position = approximation.draw(key, 1, options.temperature)[0]
    # U may be infinite at a draw of the approximation. It is finite at its centre.
    inside = is_finite_start(view, key_check, position)
    return jnp.where(inside, position, approximation.centre), finite


def _place(key: jax.Array, walkers: int) -> jax.Array:
    """Return the walker of a chain that starts alone, which does not know of others: any."""
    _, key_start, *_ = random.split(key, 5)
    return uniform_rows(key_start, (), walkers)


def _places(keys: jax.Array, walkers: int) -> jax.Array:
    """Return the walkers of chains that start together: different ones, as far as there are enough.

    Chains that start at the same latents of rows seem to agree before they do. The first chain
    has the walker that it would take alone.
    """
    return (_place(keys[0], walkers) + jnp.arange(len(keys))) % walkers


def _begun(view: View, prepared: Prepared, place: jax.Array) -> tuple[jax.Array, LatentState]:
    """Return the position and the latents of rows of one of the settled walkers."""
    position, start = jax.tree.map(lambda leaf: leaf[place], prepared.walkers)
    has_table = isinstance(prepared.tuned.gradient, LatentTable)
    return position, begun(view, position, start, has_table)
