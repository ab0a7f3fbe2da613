"""The first state of a chain."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.cpu import threefry
from numpyro_sgmcmc.dynamics import AbstractDynamics
from numpyro_sgmcmc.gradient import AbstractGradient, Anchor
from numpyro_sgmcmc.kernels.keys import given_to_init
from numpyro_sgmcmc.kernels.start import draw_start, flatten_params, is_finite_start
from numpyro_sgmcmc.kernels.state import SGMCMCState
from numpyro_sgmcmc.minibatch import AbstractMinibatch
from numpyro_sgmcmc.preparation import Approximation, Target, Tuned, View, with_friction


@final
@dataclass(frozen=True, eq=False)
class FirstStates:
    """The program that makes the first state of each chain.

    Attributes:
        dynamics: with or without their friction.
        gradient: the estimator.
        minibatch: the minibatch scheme.
        init_strategy: NumPyro's.
        step_size: the user's, None where it is chosen.
        temperature: T.
        is_single: whether there is one key, without a leading axis of chains.
    """

    dynamics: AbstractDynamics
    gradient: AbstractGradient
    minibatch: AbstractMinibatch
    init_strategy: Callable
    step_size: Callable[[Any], Any] | None
    temperature: float
    is_single: bool

    def run(
        self,
        target: Target,
        anchor: Any,
        tuned: Tuned,
        believed: Any,
        key: Any,
        init_params: Any,
    ) -> Any:
        """Return the states, and whether their positions are finite starts."""
        inputs = (anchor, tuned, believed, key, init_params)
        return target.run(self._run, *inputs, name=self._name(init_params), brief=True)

    def ahead(
        self,
        target: Target,
        key: Any,
        init_params: Any,
        anchor: Any,
        tuned: Any,
        believed: Any,
    ) -> None:
        """Begin to compile for inputs of such shapes."""
        inputs = (anchor, tuned, believed, key, init_params)
        target.ahead(self._run, *inputs, name=self._name(init_params), brief=True)

    def _name(self, init_params: Any) -> Any:
        return FirstStates, self.is_single, init_params is None, type(self.gradient)

    def _run(
        self, view: View, anchor: Any, tuned: Tuned, believed: Any, key: Any, init_params: Any
    ) -> tuple[SGMCMCState, jax.Array]:
        fn = partial(self._one, view, anchor, tuned, believed)
        return fn(key, init_params) if self.is_single else jax.vmap(fn)(key, init_params)

    def _one(
        self,
        view: View,
        anchor: Anchor | None,
        tuned: Tuned,
        believed: Approximation | None,
        key: jax.Array,
        init_params: dict[str, Any] | None,
    ) -> tuple[SGMCMCState, jax.Array]:
        own_key, key_start, key_aux, key_batch, key_check = threefry.split(key, 5)
        structure = view.structure
        position, finite = self._start(view, believed, key_start, key_check, init_params)
        dynamics = with_friction(self.dynamics, tuned.friction)
        aux = dynamics.init(key_aux, position, self.temperature)
        real = jnp.result_type(float)
        h = tuned.step_size if self.step_size is None else self.step_size(0)
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
            gradient=self.gradient.init(view, position, anchor),
            minibatch=self.minibatch.init(key_batch, structure.plates),
            tuned=tuned,
            preconditioner=tuned.preconditioner.init(position, self.temperature),
            kinetic_temperature=dynamics.kinetic_temperature(aux),
            given_keys=given_to_init(key, own_key),
        )
        return state, finite

    def _start(
        self,
        view: View,
        believed: Approximation | None,
        key: jax.Array,
        key_check: jax.Array,
        init_params: dict[str, Any] | None,
    ) -> tuple[jax.Array, jax.Array]:
        """Return a chain's first position, and whether it is finite.

        At `init_params`; without them at a draw of what is believed of the posterior; and without
        that too where the strategy says.
        """
        if init_params is not None:
            position = flatten_params(view.structure, init_params, "init_params")
            return position, is_finite_start(view, key_check, position)
        if believed is None:
            return draw_start(view, self.init_strategy, key)
        finite = jnp.ones((), bool)  # at a mode, which has been checked
        if believed.spread is None:
            return believed.centre, finite
        position = believed.draw(key, 1, self.temperature)[0]
        # The Gaussian approximation may reach beyond where U is finite; its centre does not.
        inside = is_finite_start(view, key_check, position)
        return jnp.where(inside, position, believed.centre), finite
