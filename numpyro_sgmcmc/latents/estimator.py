"""The gradient for shared parameters from a table of the rows' gradients at their latents."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.gradient import AbstractGradient, Anchor, Estimate
from numpyro_sgmcmc.latents.moves import moved_together, visited
from numpyro_sgmcmc.latents.recording import opened, recorded
from numpyro_sgmcmc.latents.state import LatentState
from numpyro_sgmcmc.pytree import as_pytree
from numpyro_sgmcmc.types import Minibatch, WholeData


@final
@as_pytree()
@dataclass(frozen=True)
class LatentTable(AbstractGradient):
    """The gradient of the joint potential at the current latents of all rows, and their moves.

    The joint potential of shared parameters z and latents a_i of rows is

        U(z, a) = V(z) + sum over rows i of u_i(z, a_i).

    Every chain keeps the latents of all rows, and the gradient t_i of u_i in z at the last visit of
    row i, with the latents that the row was left with. The estimate for a minibatch S of B rows is

        grad V(z) + sum over all i of t_i + (N / B) sum over i in S of (grad u_i(z, a_i) - t_i).

    It is unbiased for the gradient of U(., a) in z, by the same argument as for SAGA. Its noise
    comes from the distance that z has moved since the rows' last visits, not from the latents. A
    plain gradient would have additional noise, N^2 / B times the variance of a row's gradient over
    p(a_i | z, y_i), which would limit the step size to the order of B / N.

    The rows of S are then moved at the same z: discrete latents by Gibbs steps or the user's own
    move (`redrawn`), continuous ones by corrected moves (`moved`). Their t_i become the gradients
    at the new latents a'. A chain thus alternates steps of z given a with moves of a given z. Both
    leave p(z, a | y) invariant, except for the error of the step in z, which vanishes with h as for
    any other model. The moves take place in the middle of the step's kick: half of the kick uses a
    and half uses a'. The returned estimate therefore contains the additional term

        (1/2) sum over i in S of (grad u_i(z, a'_i) - grad u_i(z, a_i))

    With a alone the gradient would be that at latents of the previous point, which acts as an
    additional friction h (Lambda - M), where Lambda is the curvature given the latents and M the
    marginal one. This would be an error of first order, also for schemes of second order. An
    independent draw takes about N / B transitions for each sweep that a Gibbs sampler, which
    alternates z given a and a given z, would take.

    A step costs two gradients of B rows, in z and a together, and with discrete latents the
    densities of a Gibbs sweep. Memory for each chain is N (d + k + k^2 + m + w + v + 1)
    numbers, changed in place: k continuous and m discrete latents, w averages, v of which have a
    variance, and a count.
    """

    is_control_variate: ClassVar[bool] = True
    needs_independent_minibatches: ClassVar[bool] = True
    gradients_per_step: ClassVar[int] = 2

    def init(self, whole: WholeData, position: jax.Array, anchor: Anchor | None) -> Any:
        """Raise an error: a state needs latents, which the preparation finds."""
        raise NotImplementedError("Expected a state that the preparation of a run has made.")

    def estimate(
        self, potential: Any, position: jax.Array, minibatch: Minibatch, state: LatentState
    ) -> tuple[Estimate, LatentState]:
        """Return the estimate, and the state after moves of the minibatch's rows."""
        (rows,) = minibatch.indices.values()
        assert minibatch.key is not None
        share = len(state.rows) / len(rows)
        energy, prior = jax.value_and_grad(potential.shared)(position)
        given = opened(state, rows)
        row = given.row
        before = visited(potential, position, row.values, rows, row.discrete)
        how = row.factor, state.step, minibatch.key
        after, chance = moved_together(potential, position, before, rows, *how)
        sound = jnp.all(jnp.isfinite(after.slope), axis=1) & jnp.isfinite(after.energy)
        table = row.table
        counts = given.is_own & sound & jnp.all(jnp.isfinite(table), axis=1)
        change = share * (before.slope - table).sum(0)
        kick = jnp.where(counts[:, None], after.slope - before.slope, 0.0).sum(0) / 2
        estimate = Estimate(
            energy + share * before.energy.sum(), prior + state.total + change + kick
        )
        total = state.total + jnp.where(counts[:, None], after.slope - table, 0.0).sum(0)
        local = potential.structure.local
        return estimate, recorded(local, state._replace(total=total), given, counts, after, chance)
