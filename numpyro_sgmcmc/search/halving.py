"""Successive halving: many arms for a short time, the best of them for longer."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

REDUCTION = 3
"""One arm in three goes on to the next round, in which each has three times the budget (MAMBA)."""

Score = Callable[[list[int], float, int], Sequence[float]]
"""(arms, budget of each, number of the round) -> their scores; smaller is better."""


class Ranking(NamedTuple):
    """Arms from the best to the worst; and of each arm its number of rounds and last score."""

    order: list[int]
    rounds: np.ndarray
    scores: np.ndarray


def number_of_rounds(arms: int) -> int:
    """Return in how many rounds one arm is left."""
    rounds = 1
    while (arms := survivors(arms)) > 1:
        rounds += 1
    return rounds


def survivors(arms: int) -> int:
    """Return how many of these arms go on."""
    return max(1, arms // REDUCTION)


def successive_halving(arms: int, budget: float, score: Score) -> Ranking:
    """Return arms ranked by successive halving (Jamieson and Talwalkar 2016).

    Each round has the same share of the budget, divided equally among the arms that are left. Of
    these the best third goes on. A score that is not a number is infinite, and an arm with an
    infinite score never goes on.

    Args:
        arms: their number.
        budget: of all rounds together, in any unit.
        score: gives some arms a budget each and returns their scores.
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
