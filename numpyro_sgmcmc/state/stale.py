"""The state of a kernel with stale gradients: that of the kernel, and the points of its past."""

from typing import Any, NamedTuple

import jax

from numpyro_sgmcmc.staleness import Past, StaleState
from numpyro_sgmcmc.state.data import DataTag
from numpyro_sgmcmc.state.keys import GivenKeys
from numpyro_sgmcmc.state.tuned import Tuned


class StaleGradientState(NamedTuple):
    """State of one chain whose gradients are taken at points of its past.

    The other fields are those of `SGMCMCState`; `potential_energy` is that of the old point.

    Attributes:
        past: the points at which the last transitions needed their gradients.
        staleness: mean age of the gradients of the last iteration, in transitions.
    """

    i: jax.Array
    z: dict[str, jax.Array]
    rng_key: jax.Array
    step_size: jax.Array
    weight: jax.Array
    potential_energy: jax.Array
    diverging: jax.Array
    num_diverging: jax.Array
    aux: Any
    gradient: Any
    minibatch: Any
    tuned: Tuned
    preconditioner: Any
    kinetic_temperature: jax.Array | None
    given_keys: GivenKeys
    data: DataTag
    past: Past
    staleness: jax.Array

    @property
    def companions(self) -> dict[str, Any]:
        """The other walkers by field name: none."""
        return {}


def gradient_state(state: Any) -> Any:
    """Return what the gradient estimator of one chain carries from step to step."""
    if isinstance(state, StaleGradientState):
        return StaleState(state.gradient, state.past)
    return state.gradient


def with_gradient_state(state: Any, gradient: Any) -> Any:
    """Return the state with what the estimator carries."""
    if isinstance(state, StaleGradientState):
        return state._replace(gradient=gradient.inner, past=gradient.past)
    return state._replace(gradient=gradient)
