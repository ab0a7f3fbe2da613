"""What a server has asked for, got and used: its protocol, without processes or clocks.

A server takes transition s with the gradient of request s, in this order, whatever the order in
which answers come. So the age of a gradient is known when it is asked for, and is never above the
bound; an answer is used at most once; and a run is determined by its ages.
"""

from typing import NamedTuple, final

from numpyro_sgmcmc.distributed.messages import Answer, Request
from numpyro_sgmcmc.distributed.refusal import Refusal, refusal_of


class Asked(NamedTuple):
    """An open request.

    Attributes:
        request: the request.
        taken: number of transitions that the server had taken when it sent the position.
        answer: the answer, if it has come and waits for its turn.
        refusals: how many answers were refused.
        is_doubted: whether one of them was refused because it is not finite.
    """

    request: Request
    taken: int
    answer: Answer | None = None
    refusals: int = 0
    is_doubted: bool = False


class Ready(NamedTuple):
    """An answer whose turn it is, and the ages of its gradients at their transitions."""

    request: Request
    answer: Answer
    ages: range


@final
class Ledger(NamedTuple):
    """A server's account of its requests.

    Attributes:
        bound: the largest age of a gradient.
        limit: transitions from this one on cannot be asked for yet.
        taken: number of transitions that were taken.
        asked: number of transitions that were asked for.
        open: requests that were not used yet, by their first transition, in order.
    """

    bound: int
    limit: int
    taken: int = 0
    asked: int = 0
    open: dict[int, Asked] = {}  # noqa: RUF012 - never changed, always replaced

    @property
    def in_flight(self) -> int:
        """Number of requests without an answer."""
        return [one.answer for one in self.open.values()].count(None)

    def room(self, most: int) -> int:
        """Return the number of transitions, at most `most`, that can be asked for now."""
        return max(
            0, min(most, self.limit - self.asked, self.bound + 1 - (self.asked - self.taken))
        )

    def sent(self, request: Request) -> "Ledger":
        """Return the account after a request, the next in order."""
        assert request.step == self.asked and 0 < request.count <= self.room(request.count)
        asked = {**self.open, request.step: Asked(request, self.taken)}
        return Ledger(self.bound, self.limit, self.taken, self.asked + request.count, asked)

    def is_waiting_for(self, request: Request) -> bool:
        """Return whether a request is open and has no answer."""
        asked = self.open.get(request.step)
        return asked is not None and asked.answer is None

    def received(self, request: Request, answer: Answer) -> tuple["Ledger", Refusal | None]:
        """Return the account after an answer to a request, and the reason if it is refused.

        An answer that is not finite is accepted if a second one is not finite either: the
        transition is then rejected, as it is without workers.
        """
        asked = self.open.get(request.step)
        if asked is None or asked.answer is not None:
            return self, "late"
        reason = refusal_of(answer, request)
        is_doubtful = reason == "not finite"
        if reason is None or (is_doubtful and asked.is_doubted):
            return self._with(asked._replace(answer=answer)), None
        doubted = asked.is_doubted or is_doubtful
        again = asked._replace(refusals=asked.refusals + 1, is_doubted=doubted)
        return self._with(again), reason

    def ready(self) -> Ready | None:
        """Return the answer to the next transition, or None if it has not come."""
        asked = self.open.get(self.taken)
        if asked is None or asked.answer is None:
            return None
        first = self.taken - asked.taken
        return Ready(asked.request, asked.answer, range(first, first + asked.request.count))

    def used(self) -> "Ledger":
        """Return the account after the transitions of the answer that was ready."""
        rest = dict(self.open)
        asked = rest.pop(self.taken)
        return Ledger(self.bound, self.limit, self.taken + asked.request.count, self.asked, rest)

    def refusals(self, request: Request) -> int:
        """Return how many answers to a request were refused while it was open."""
        asked = self.open.get(request.step)
        return 0 if asked is None else asked.refusals

    def _with(self, asked: Asked) -> "Ledger":
        rest = {**self.open, asked.request.step: asked}
        return Ledger(self.bound, self.limit, self.taken, self.asked, rest)
