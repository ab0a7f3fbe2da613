"""Successive halving on scores that are known."""

import numpy as np
import pytest

from numpyro_sgmcmc.search.halving import number_of_rounds, successive_halving


class Known:
    """Scores that are given; notes what was asked."""

    def __init__(self, scores):
        self.scores, self.asked = scores, []

    def __call__(self, arms, budget, number):
        self.asked.append((list(arms), budget, number))
        return [self.scores[arm] for arm in arms]


@pytest.mark.parametrize(
    ("arms", "rounds"), [(1, 1), (2, 1), (3, 1), (5, 1), (6, 2), (9, 2), (12, 2), (27, 3)]
)
def test_rounds(arms, rounds):
    assert number_of_rounds(arms) == rounds
    score = Known(np.arange(arms)[::-1])
    ranking = successive_halving(arms, 30.0, score)
    assert len(score.asked) == rounds == ranking.rounds.max()
    assert ranking.order[0] == arms - 1
    # All of the budget is spent, and every round costs as much as any other.
    spent = [len(left) * budget for left, budget, _ in score.asked]
    np.testing.assert_allclose(spent, 30.0 / rounds)


def test_the_best_third_goes_on():
    scores = np.array([5.0, 1.0, 7.0, 3.0, 9.0, 2.0, 8.0, 6.0, 4.0])
    score = Known(scores)
    ranking = successive_halving(9, 18.0, score)
    assert [set(left) for left, _, _ in score.asked] == [set(range(9)), {1, 5, 3}]
    assert [budget for _, budget, _ in score.asked] == [1.0, 3.0]
    assert [number for _, _, number in score.asked] == [0, 1]
    assert ranking.order == [1, 5, 3, 8, 0, 7, 2, 6, 4]
    np.testing.assert_array_equal(ranking.rounds, [1, 2, 1, 2, 1, 2, 1, 1, 1])
    np.testing.assert_array_equal(ranking.scores, scores)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_never_goes_on(bad):
    scores = [bad, bad, bad, bad, bad, 2.0, bad, 1e30, bad]
    score = Known(scores)
    ranking = successive_halving(9, 1.0, score)
    assert [set(left) for left, _, _ in score.asked] == [set(range(9)), {5, 7}]
    assert ranking.order[:2] == [5, 7] and np.isinf(ranking.scores[ranking.order[2:]]).all()
    nothing = successive_halving(9, 1.0, Known([bad] * 9))
    assert nothing.rounds.max() == 1 and np.isinf(nothing.scores).all()
