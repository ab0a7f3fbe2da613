"""A server's account of requests: ages, order, bounds and refusals, without any chain."""

import numpy as np
import pytest

from numpyro_sgmcmc.distributed.calendar import Calendar
from numpyro_sgmcmc.distributed.ledger import Ledger
from numpyro_sgmcmc.distributed.messages import Answer, Request
from numpyro_sgmcmc.distributed.planning import planned_delay, share_of, size_of

D = 3


def request(step, count=1, version=0, size=1):
    keys = np.zeros((size, 2), np.uint32)
    return Request(0, step, count, version, np.zeros(D, np.float32), keys, [])


def answer(asked, **changes):
    size = len(asked.keys)
    values = np.ones((size, D + 1), np.float32)
    return Answer(0, asked.step, asked.version, values, 0.1)._replace(**changes)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("size", [1, 3])
def test_every_transition_is_taken_once_in_order_within_the_bound(seed, size):
    """Answers come in any order: whatever comes, ages are those at the time of asking."""
    rng, total, bound = np.random.default_rng(seed), 100, 8
    ledger, flying, taken, ages = Ledger(bound, total), [], [], []
    asked_at = {}
    while ledger.taken < total:
        count = ledger.room(size)
        if count and (not flying or rng.random() < 0.6):
            one = request(ledger.asked, count, size=size)
            asked_at |= dict.fromkeys(range(one.step, one.step + count), ledger.taken)
            ledger = ledger.sent(one)
            flying.append(one)
            continue
        one = flying.pop(int(rng.integers(len(flying))))
        ledger, reason = ledger.received(one, answer(one))
        assert reason is None
        while (ready := ledger.ready()) is not None:
            taken += range(ready.request.step, ready.request.step + ready.request.count)
            ages += ready.ages
            ledger = ledger.used()
    assert taken == list(range(total))
    assert ages == [step - asked_at[step] for step in range(total)]
    assert max(ages) <= bound and len(set(ages)) > 3
    assert not ledger.open and not ledger.in_flight


NAN = np.full((1, D + 1), np.nan, np.float32)
WRONG = {
    "wrong request": {"step": 7},
    "wrong version": {"version": 1},
    "misshapen": {"values": np.ones((1, D), np.float32)},
    "not finite": {"values": NAN},
}


@pytest.mark.parametrize("reason", WRONG)
def test_wrong_answers_are_refused_and_the_right_one_is_taken_once(reason):
    one = request(0)
    ledger = Ledger(4, 100).sent(one)
    ledger, found = ledger.received(one, answer(one, **WRONG[reason]))
    assert found == reason and ledger.is_waiting_for(one) and ledger.refusals(one) == 1
    ledger, found = ledger.received(one, answer(one))
    assert found is None and ledger.ready() is not None
    same, found = ledger.received(one, answer(one))
    assert found == "late" and same == ledger
    after = ledger.used()
    assert after.received(one, answer(one)) == (after, "late")


def test_types_and_energies_are_looked_at():
    one = request(0)
    ledger = Ledger(4, 100).sent(one)
    double = answer(one, values=np.ones((1, D + 1)))
    assert ledger.received(one, double)[1] == "misshapen"
    infinite = answer(one, values=np.array([[1.0] * D + [np.inf]], np.float32))
    assert ledger.received(one, infinite)[1] == "not finite"


def test_what_is_not_finite_twice_is_believed():
    one = request(0)
    ledger = Ledger(4, 100).sent(one)
    ledger, _ = ledger.received(one, answer(one, version=3))
    ledger, found = ledger.received(one, answer(one, values=NAN))
    assert found == "not finite"
    ledger, found = ledger.received(one, answer(one, values=NAN))
    assert found is None and ledger.ready() is not None


def test_what_is_left_of_a_request_may_be_anything():
    one = request(0, count=1, size=2)
    values = np.array([[1.0] * (D + 1), [np.nan] * (D + 1)], np.float32)
    assert Ledger(4, 100).sent(one).received(one, answer(one, values=values))[1] is None


def test_nothing_is_asked_beyond_the_limit_or_the_bound():
    ledger = Ledger(2, 4)
    assert ledger.room(10) == 3
    for step in range(3):
        ledger = ledger.sent(request(step))
    assert ledger.room(1) == 0
    ledger, _ = ledger.received(request(0), answer(request(0)))
    ledger = ledger.used()
    assert ledger.room(10) == 1
    assert ledger.sent(request(3))._replace(bound=50).room(10) == 0


def test_iterations_of_two_lengths():
    calendar = Calendar(3, 4, 2, 5)
    assert [calendar.first_of(i) for i in range(8)] == [0, 2, 4, 6, 11, 16, 21, 26]
    assert calendar.transitions == 26
    ends = [calendar.iterations_after(n) for n in range(27)]
    assert ends == [sum(calendar.first_of(i) <= n for i in range(1, 8)) for n in range(27)]
    assert calendar.draws_after(25) == 3 and calendar.draws_after(5) == 0
    assert calendar.next_renewal(0) == 7


def test_renewals():
    given = Calendar(3, 9, 2, 2, period=5)
    assert [i for i in range(12) if given.is_renewal(i)] == [2, 4, 6, 8, 10]
    chosen = Calendar(3, 9, 2, 4, period=9, starts_anew=True)
    assert [i for i in range(12) if chosen.is_renewal(i)] == [3, 5, 7, 9, 11]
    assert [chosen.next_renewal(i) for i in (0, 3, 4, 11)] == [3, 5, 5, 12]


def test_requests_are_as_long_as_a_message():
    assert size_of(1e-3, 50e-3, 4, 16) == 1
    assert size_of(1e-3, 0.3e-3, 2, 16) == 4
    assert size_of(1e-3, 1e-6, 4, 16) == 4  # what the bound allows
    assert share_of(8, 2, 16) == 4 and share_of(3, 2, 16) == 2 and share_of(8, 1, 3) == 4
    assert planned_delay(4, 1).mean == 3
    assert planned_delay(2, 4).mean == pytest.approx(5.5) and planned_delay(2, 4).largest == 7
