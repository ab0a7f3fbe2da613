"""The plain gradient for shared parameters at the latents of a minibatch's rows."""

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
class PlainAtLatents(AbstractGradient):
    """The gradient at the latents of a minibatch's rows, half before and half after their moves.

    It is for more than 300 shared parameters with a step size of the user's: a table of the rows'
    gradients, N d numbers, would be large (`LatentTable`).
    Every chain keeps the latents of all rows. The rows of a minibatch S are moved from a to a' at
    the current z, in the same way, and the estimate is

        grad V(z) + (N / B) sum over i in S of (grad u_i(z, a_i) + grad u_i(z, a'_i)) / 2.

    Its mean over minibatches is the mean of the gradients at the latents before and after a sweep
    over all rows. Its noise has two parts. Rows differ from each other, which a preconditioner or
    larger minibatches must make up for. The latents of a row vary, which adds N^2 / B times a row's
    share of that variance, and limits the step size to the order of B / N.

    With a alone the gradient would be that at latents of a point about N / B transitions ago, which
    acts as a friction and makes variances too small: by 14 % where the noise alone would add 32 %,
    on a Gaussian of six rows with h M = 0.03, B = 1 and M the marginal precision. With a' alone
    they are 41 % too large. The mean of both leaves 4 %: a part of what a move adds to one gradient
    returns in that of the row's next visit, with the other sign. The excess was between 0 and what
    theory says of noise and step size together, which is what the verdict uses, for all variances
    of latents and rates of their moves that were tried.

    A step costs two gradients of B rows in z, and as many in a as the moves need. Memory for each
    chain is N (k + k^2 + m + w + v + 1) numbers, as for `LatentTable` without its table.
    """

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
        own = given.row.values, rows, given.row.discrete
        before = visited(potential, position, *own, each_slope=False)
        how = given.row.factor, state.step, minibatch.key
        after, chance = moved_together(potential, position, before, rows, *how)
        both = (
            jnp.concatenate([before.latents, after.latents]),
            jnp.concatenate([rows, rows]),
            jnp.concatenate([before.discrete, after.discrete]),
        )
        slope = jax.grad(potential.rows)(position, *both)
        estimate = Estimate(energy + share * before.energy.sum(), prior + share / 2 * slope)
        sound = jnp.all(jnp.isfinite(after.force), axis=1) & jnp.isfinite(after.energy)
        local, counts = potential.structure.local, given.is_own & sound
        return estimate, recorded(local, state, given, counts, after, chance)
