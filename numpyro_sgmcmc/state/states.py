"""States of the kernels: one NamedTuple for each chain."""

from typing import Any, NamedTuple

import jax

from numpyro_sgmcmc.state.data import DataTag
from numpyro_sgmcmc.state.keys import GivenKeys
from numpyro_sgmcmc.state.tuned import Tuned


class SGMCMCState(NamedTuple):
    """State of one chain (all arrays gain a leading axis with vectorised chains).

    Attributes:
        i: number of MCMC iterations so far.
        z: unconstrained values by site name.
        rng_key: the key of the next iteration.
        step_size: h of the last transition.
        weight: simulated time of the last iteration, which is the weight of its draw.
        potential_energy: the last minibatch estimate of U, where the gradient was taken.
        diverging: whether a transition of the last iteration was refused.
        num_diverging: number of iterations with a refused transition so far.
        aux: the dynamics' auxiliary variables, such as the momentum.
        gradient: the gradient estimator's state, such as the anchor.
        minibatch: the minibatch scheme's state.
        tuned: the numbers that the kernel runs with.
        preconditioner: the preconditioner's state.
        kinetic_temperature: p . p / d of the momentum, whose mean is T; None without momentum.
        given_keys: keys that the chain was given from outside.
        data: identifies the data that the state was made for.
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

    @property
    def companions(self) -> dict[str, "Companion"]:
        """Other walkers by field: none."""
        return {}


class RichardsonRombergState(NamedTuple):
    """State of Richardson-Romberg's walkers: as `SGMCMCState`, of the finest one.

    Attributes:
        z_halfway: the finest walker after half of its steps.
        z_coarse: the coarse walker.
        coarse: what else belongs to the coarse walker.
        z_middle: the walker between, None with two levels.
        middle: what else belongs to it, None with two levels.
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
    z_halfway: dict[str, jax.Array]
    z_coarse: dict[str, jax.Array]
    coarse: "Companion"
    z_middle: dict[str, jax.Array] | None = None
    middle: "Companion | None" = None

    @property
    def companions(self) -> dict[str, "Companion"]:
        """What belongs to the other walkers, by field."""
        middle = {} if self.middle is None else {"middle": self.middle}
        return {"coarse": self.coarse, **middle}


class Companion(NamedTuple):
    """What a walker carries besides its position: as `SGMCMCState`'s fields of these names."""

    aux: Any
    gradient: Any
    preconditioner: Any
    minibatch: Any
