"""States of the kernels: a NamedTuple for one chain."""

from typing import Any, NamedTuple

import jax

from numpyro_sgmcmc.state.data import DataTag
from numpyro_sgmcmc.state.keys import GivenKeys
from numpyro_sgmcmc.state.tuned import Tuned


class SGMCMCState(NamedTuple):
    """State of one chain. With vectorised chains all arrays have a leading axis.

    Attributes:
        i: number of MCMC iterations so far.
        z: unconstrained values by site name.
        rng_key: the key of the next iteration.
        step_size: h of the last transition.
        weight: simulated time of the last iteration, which is the weight of its draw.
        potential_energy: the last minibatch estimate of U, at the point of the last gradient.
        diverging: whether a transition of the last iteration was rejected because it diverged.
        num_diverging: number of iterations with a rejected transition so far.
        aux: the dynamics' auxiliary variables, such as the momentum.
        gradient: the gradient estimator's state, such as the anchor.
        minibatch: the minibatch scheme's state.
        tuned: the settings that the kernel runs with.
        preconditioner: the preconditioner's state.
        kinetic_temperature: p . p / d of the momentum, whose mean is T; None without momentum.
        given_keys: the keys that the user gave.
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
        """The other walkers by field name: none."""
        return {}


class RichardsonRombergState(NamedTuple):
    """State of the walkers of Richardson-Romberg extrapolation.

    The fields of `SGMCMCState` are those of the finest walker.

    Attributes:
        z_halfway: position of the finest walker after half of its steps.
        z_coarse: position of the coarse walker.
        coarse: other variables of the coarse walker.
        z_middle: position of the middle walker; None with two levels.
        middle: other variables of the middle walker; None with two levels.
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
        """Variables of the other walkers, by field name."""
        middle = {} if self.middle is None else {"middle": self.middle}
        return {"coarse": self.coarse, **middle}


class Companion(NamedTuple):
    """Variables of a walker besides its position; the names are those of `SGMCMCState`."""

    aux: Any
    gradient: Any
    preconditioner: Any
    minibatch: Any
