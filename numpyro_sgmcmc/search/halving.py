"""Successive halving: many arms run for a short time, the best of them for longer."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

REDUCTION = 3
"""One arm in three continues to the next round, with three times the budget (as in MAMBA)."""

Score = Callable[[list[int], float, int], Sequence[float]]
"""(arms, budget of each arm, number of the round) -> scores of the arms; smaller is better."""


class Ranking(NamedTuple):
    """The arms from the best to the worst, and each arm's number of rounds and last score."""

    order: list[int]
    rounds: np.ndarray
    scores: np.ndarray


def number_of_rounds(arms: int) -> int:
    """Return the number of rounds after which one arm is left."""
    rounds = 1
    while (arms := survivors(arms)) > 1:
        rounds += 1
    return rounds


def survivors(arms: int) -> int:
    """Return how many of `arms` arms continue."""
    return max(1, arms // REDUCTION)


def successive_halving(arms: int, budget: float, score: Score) -> Ranking:
    """Return arms ranked by successive halving (Jamieson and Talwalkar 2016).

    Each round has the same share of the budget, divided equally among the remaining arms. The best
    third of them continues. A score of NaN counts as infinite, and an arm with an infinite score
    never continues.

    References:
        Jamieson and Talwalkar 2016, "Non-stochastic Best Arm Identification and Hyperparameter
        Optimization", https://arxiv.org/abs/1502.07943

    Args:
        arms: number of arms.
        budget: budget of all rounds together, in any unit.
        score: function that runs some arms with a budget for each and returns their scores.
    """
    rounds, scores = np.zeros(arms, int), np.full(arms, np.inf)
    left = list(range(arms))
    total = number_of_rounds(arms)
    for number in range(total):
        found = np.asarray(score(left, budget / (total * len(left)), number), float)
        scores[left] = np.where(np.isnan(found), np.inf, found)
        rounds[left] += 1
        best = sorted(left, key=lambda arm: scores[arm])[: survivors(len(left))]
        left = [arm for arm in best if np.isfinite(scores[arm])]
        if not left:
            break
    order = sorted(range(arms), key=lambda arm: (-rounds[arm], scores[arm]))
    return Ranking(order, rounds, scores)
