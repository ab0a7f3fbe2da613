"""Where chains start, in as few numbers as a row needs: a kernel keeps them for further runs."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.latents import LatentState, first_state
from numpyro_sgmcmc.preparation.latents.noise import Walkers
from numpyro_sgmcmc.preparation.latents.potential import potential_of
from numpyro_sgmcmc.preparation.target import View


class LatentStart(NamedTuple):
    """Latents of all rows and their proposals; the rest of a chain's first state follows from them.

    Attributes:
        values: continuous latents, unconstrained or in `in_coordinates`, (N, k).
        discrete: discrete latents, (N, m).
        factor: of the rows' proposals, (N, k, k).
        step: of the rows' moves, ().
        wait: transitions until moments are kept, ().
    """

    values: jax.Array
    discrete: jax.Array
    factor: jax.Array
    step: jax.Array
    wait: jax.Array


class Starts(NamedTuple):
    """Positions of walkers, (walkers, d), and their latents with the same leading axis."""

    positions: jax.Array
    latents: LatentStart

    def waiting(self, transitions: Any) -> "Starts":
        """Return starts of chains that keep moments after so many transitions."""
        wait = jnp.full_like(self.latents.wait, transitions)
        return self._replace(latents=self.latents._replace(wait=wait))


def starts_of(walkers: Walkers, wait: Any) -> Starts:
    """Return starts at walkers, for chains that keep moments after so many transitions."""
    state = walkers.latents
    kept = state.values, state.discrete, state.factor, state.step
    return Starts(walkers.positions, LatentStart(*kept, state.wait)).waiting(wait)


def begun(view: View, position: jax.Array, start: LatentStart, has_table: bool) -> LatentState:
    """Return the first state of a chain, with the rows' gradients at `position`."""
    given = start.values, start.factor, start.step, start.discrete
    state = first_state(potential_of(view), position, *given, has_table)
    return state._replace(wait=start.wait)


def walkers_of(view: View, starts: Starts) -> Walkers:
    """Return walkers with a table of gradients, one after the other."""
    states = jax.lax.map(lambda inputs: begun(view, *inputs, has_table=True), tuple(starts))
    return Walkers(starts.positions, states)
