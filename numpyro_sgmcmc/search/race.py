"""The rounds of a search: how long each arm runs for its budget, and how it is scored."""

from typing import final

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.search.lanes import Lanes

DRAWS = 400
"""Number of draws of an arm that are scored in a round. Exact draws score about 2 d / 400."""

FEWEST_DRAWS = 16

NUMBERS_KEPT = 2**25
"""Limit of the numbers in the draws of all arms together. It reduces DRAWS in high dimension."""

SCORING = 0.5
"""Number of rows for scoring, as a share of the rows that the chains use."""


@final
class Race:
    """All arms of a search, grouped by minibatch size.

    Args:
        lanes: the arms of each minibatch size.
        steps: number of step sizes. Arm k is number k % steps of lanes[k // steps].
        dimension: number of unconstrained parameters d.
        is_timed: whether budgets are in seconds; otherwise they are in gradients of rows.
        key: key of the scores.
    """

    def __init__(
        self, lanes: list[Lanes], steps: int, dimension: int, is_timed: bool, key: jax.Array
    ) -> None:
        count = len(lanes) * steps
        self.lanes = lanes
        self.alive = [list(range(g * steps, (g + 1) * steps)) for g in range(len(lanes))]
        self.is_timed = is_timed
        self.draws = max(FEWEST_DRAWS, min(DRAWS, NUMBERS_KEPT // (count * dimension)))
        self.transitions, self.seconds = np.zeros(count, int), np.zeros(count)
        self.errors = np.full(count, np.nan)
        """Standard errors of the arms' last scores."""
        self._key = key

    def friction(self, arm: int) -> float | None:
        """Return the friction of a remaining arm; None if the user gave it or there is none."""
        for lanes, alive in zip(self.lanes, self.alive, strict=True):
            if arm in alive:
                return lanes.friction(alive.index(arm))
        raise AssertionError(arm)

    def round(self, arms: list[int], budget: float, number: int) -> list[float]:
        """Run these arms, each for the budget, and return their scores: infinite if diverged."""
        self._keep(arms)
        running = [(g, alive) for g, alive in enumerate(self.alive) if alive]
        sound = {}
        rows = []
        for g, alive in running:
            lanes = self.lanes[g]
            before = np.asarray(lanes.walkers.num_diverging)
            rows += [lanes.rows * self._spend(g, budget, is_first=number == 0)] * len(alive)
            kept = np.asarray(lanes.walkers.num_diverging) == before
            sound |= dict(zip(alive, kept & self._is_finite(lanes), strict=True))
        if not any(sound.values()):
            return [np.inf] * len(arms)
        spreads = [self._spreads(self.lanes[g])[[sound[a] for a in alive]] for g, alive in running]
        scales = np.median(np.concatenate(spreads), axis=0)
        scales = np.where(scales > 0, scales, 1.0)
        scores = {}
        for g, alive in running:
            repeats = SCORING * np.mean(rows) / (2 * self.draws * self.lanes[g].rows)
            key = jax.random.fold_in(jax.random.fold_in(self._key, number), g)
            found = self.lanes[g].scores(key, scales, max(1, round(repeats)))
            scores |= {arm: float(score.value) for arm, score in zip(alive, found, strict=True)}
            self.errors[alive] = [score.error for score in found]
        return [scores[arm] if sound[arm] else np.inf for arm in arms]

    def _keep(self, arms: list[int]) -> None:
        for g, alive in enumerate(self.alive):
            left = [arm for arm in alive if arm in arms]
            if left and left != alive:
                self.lanes[g].keep([alive.index(arm) for arm in left])
            self.alive[g] = left

    def _spend(self, g: int, budget: float, is_first: bool) -> int:
        """Run the arms of one minibatch size and return the number of iterations of each."""
        lanes, alive, count = self.lanes[g], self.alive[g], self.draws
        spent, seconds = 0, 0.0
        if self.is_timed:
            # The first iterations measure how long one takes.
            spent, seconds = count, lanes.advance(count, 0, 1)
            iterations = int((budget * len(alive) - seconds) * count / seconds)
        else:
            iterations = int(budget / lanes.rows)
        skip = iterations // 2 if is_first else 0
        thin = (iterations - skip) // count
        if is_first and thin < 1:
            cost = 3 * seconds / len(alive) if self.is_timed else 2 * count * lanes.rows
            raise ValueError(
                f"Expected a `budget` at least {cost / max(budget, 1e-30):.3g} times as large; got"
                f" one that allows {max(iterations, 0)} iterations for each arm of the first round,"
                f" where {2 * count} are needed. Increase it, or use fewer step sizes and minibatch"
                " sizes."
            )
        thin = max(thin, 1)
        seconds += lanes.advance(count, skip, thin)
        spent += skip + count * thin
        self.transitions[alive] += spent * lanes.num_steps
        self.seconds[alive] += seconds / len(alive)
        return spent

    @staticmethod
    def _is_finite(lanes: Lanes) -> np.ndarray:
        return np.asarray(jnp.isfinite(lanes.draws).all(axis=(1, 2)))

    @staticmethod
    def _spreads(lanes: Lanes) -> np.ndarray:
        return np.asarray(lanes.draws.std(axis=1))
