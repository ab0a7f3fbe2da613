"""The first state of a chain."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.adaptation import Approximation, Tuned, View
from numpyro_sgmcmc.dynamics import AbstractDynamics
from numpyro_sgmcmc.gradient import AbstractGradient, Anchor
from numpyro_sgmcmc.kernels.start import draw_start, flatten_params, is_finite_start
from numpyro_sgmcmc.kernels.state import SGMCMCState
from numpyro_sgmcmc.minibatch import AbstractMinibatch


class Parts(NamedTuple):
    """What a chain's state is made by: dynamics with their friction, and where it begins."""

    dynamics: AbstractDynamics
    gradient: AbstractGradient
    minibatch: AbstractMinibatch
    init_strategy: Callable


def first_state(
    view: View,
    parts: Parts,
    anchor: Anchor | None,
    tuned: Tuned,
    believed: Approximation | None,
    step_size: Any,
    temperature: float,
    key: jax.Array,
    init_params: dict[str, Any] | None,
) -> tuple[SGMCMCState, jax.Array]:
    """Return a chain's first state, and whether its position is a finite start.

    It starts at `init_params`; without them at a draw of what is believed of the posterior; and
    without that too where the strategy says.
    """
    key, key_start, key_aux, key_batch, key_check = jax.random.split(key, 5)
    structure = view.structure
    finite = jnp.ones((), bool)  # at a mode, which has been checked
    if init_params is not None:
        position = flatten_params(structure, init_params, "init_params")
        finite = is_finite_start(view, key_check, position)
    elif believed is None:
        position, finite = draw_start(view, parts.init_strategy, key_start)
    elif believed.spread is None:
        position = believed.centre
    else:
        position = believed.draw(key_start, 1, temperature)[0]
        # The Gaussian approximation may reach beyond where U is finite; its centre does not.
        inside = is_finite_start(view, key_check, position)
        position = jnp.where(inside, position, believed.centre)
    real = jnp.result_type(float)
    aux = parts.dynamics.init(key_aux, position, temperature)
    state = SGMCMCState(
        i=jnp.zeros((), jnp.int32),
        z=structure.unravel(position),
        rng_key=key,
        step_size=jnp.asarray(step_size, real),
        weight=jnp.zeros((), real),
        potential_energy=jnp.zeros((), real),
        diverging=jnp.zeros((), bool),
        num_diverging=jnp.zeros((), jnp.int32),
        aux=aux,
        gradient=parts.gradient.init(view, position, anchor),
        minibatch=parts.minibatch.init(key_batch, structure.plates),
        tuned=tuned,
        preconditioner=tuned.preconditioner.init(position, temperature),
        kinetic_temperature=parts.dynamics.kinetic_temperature(aux),
    )
    return state, finite
