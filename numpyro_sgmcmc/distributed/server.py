"""A server: a chain, its account of requests, and the keys of the transitions to come."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from numpyro_sgmcmc.distributed.ahead import Ahead, KeyProgram
from numpyro_sgmcmc.distributed.calendar import Calendar
from numpyro_sgmcmc.distributed.chain import Block, ChainProgram, Moved
from numpyro_sgmcmc.distributed.ledger import Ledger, Ready
from numpyro_sgmcmc.distributed.messages import Request
from numpyro_sgmcmc.distributed.packing import Packed, Packing


class Work(NamedTuple):
    """What the servers of a run share.

    Attributes:
        program: the programs of a chain.
        keys: the program of the keys ahead.
        calendar: the iterations of a chain.
        bound: the largest age of a gradient.
        share: the most requests of a server that are with workers at a time.
        size: transitions of a request.
    """

    program: ChainProgram
    keys: KeyProgram
    calendar: Calendar
    bound: int
    share: int
    size: int


class Chance(NamedTuple):
    """What is random in some consecutive transitions.

    Attributes:
        first: number of the first of them.
        packed: for `ChainProgram`; None if nothing is drawn ahead.
    """

    first: int
    packed: Packed | None


class Server(NamedTuple):
    """A server between two messages.

    Attributes:
        number: its number.
        ledger: its account of requests.
        chain: its chain, for `ChainProgram`.
        query: the position at which the next gradient is needed, (d,).
        version: how often its gradient estimator has been renewed.
        ahead: keys of transitions to come.
        chance: what is random in transitions to come; None if it has not been computed.
    """

    number: int
    ledger: Ledger
    chain: Packed
    query: np.ndarray
    version: int
    ahead: Ahead
    chance: Chance | None = None


class Taken(NamedTuple):
    """The transitions of an answer.

    Attributes:
        request: what was asked for.
        ages: of the gradients.
        moved: the chain after them, with what is kept of them.
    """

    request: Request
    ages: range
    moved: Moved


class Result(NamedTuple):
    """What the transitions of an answer have given.

    Attributes:
        packing: of the buffers.
        buffers: what is kept of the iterations that ended, by field, (b, ...), on the device.
        made: which of them are draws.
        ages: of the gradients, (transition,).
        mark: the iteration whose mark comes after them; None if there is none.
        state: the state of the chain there, or None.
    """

    packing: Packing
    buffers: Packed
    made: slice
    ages: np.ndarray
    mark: int | None
    state: Any

    @property
    def count(self) -> int:
        """Number of draws."""
        return max(0, self.made.stop - self.made.start)

    @property
    def nbytes(self) -> int:
        """Bytes of the buffers."""
        return sum(leaf.nbytes for leaf in jax.tree.leaves(self.buffers))


def draws_of(results: Sequence[Result]) -> dict[str, Any]:
    """Return the draws of results by field, (draw, ...), on the host."""
    held = results[0].packing.on_host([one.buffers for one in results])
    size = len(jax.tree.leaves(held)[0][0])
    made = np.zeros((len(results), size), bool)
    for row, one in zip(made, results, strict=True):
        row[one.made] = True
    return jax.tree.map(lambda x: x[made], held)


def first_server(work: Work, number: int, state: Any, iterations: int = 0) -> Server:
    """Return a server whose chain has the kernel's state after so many iterations."""
    calendar = work.calendar
    taken = calendar.first_of(iterations)
    limit = calendar.first_of(calendar.next_renewal(iterations))
    chain = work.program.first(state)
    if calendar.is_renewal(iterations):
        chain = work.program.renewed(chain)
    query = np.asarray(work.program.query(chain))
    ledger = Ledger(work.bound, limit, taken, taken)
    return Server(number, ledger, chain, query, 0, work.keys.first(state, taken))


def is_over(work: Work, server: Server) -> bool:
    """Return whether a server has taken all its transitions."""
    return server.ledger.taken >= work.calendar.transitions


def next_request(work: Work, server: Server) -> tuple[Server, Request] | None:
    """Return the next request of a server and the server after it; None if it must wait."""
    ledger = server.ledger
    end = min(ledger.limit, work.calendar.next_mark(ledger.asked))
    wanted = min(work.size, end - ledger.asked)
    if wanted <= 0 or ledger.in_flight >= work.share or ledger.room(wanted) < wanted:
        return None
    step, ahead = ledger.asked, server.ahead
    if not ahead.holds(step, work.size):
        ahead = work.keys.moved(ahead, step)
    place = slice(step - ahead.first, step - ahead.first + work.size)
    request = Request(
        server=server.number,
        step=step,
        count=wanted,
        version=server.version,
        position=server.query,
        keys=ahead.batches[place],
        schemes=[leaf[place] for leaf in ahead.schemes],
    )
    return server._replace(ledger=ledger.sent(request), ahead=ahead), request


def prepared(work: Work, server: Server) -> Server:
    """Return a server with what is random in its next transition."""
    taken, chance = server.ledger.taken, server.chance
    if chance is not None and taken < chance.first + work.program.together:
        return server
    if is_over(work, server):
        return server
    return server._replace(chance=Chance(taken, work.program.drawn(server.chain)))


def moved(work: Work, server: Server) -> tuple[Server, list[Taken]]:
    """Return a server after all transitions whose turn it is, and these."""
    taken: list[Taken] = []
    while (ready := server.ledger.ready()) is not None:
        server, found = _after(work, server, ready)
        taken.append(Taken(ready.request, ready.ages, found))
    return (server._replace(query=np.asarray(taken[-1].moved.query)) if taken else server), taken


def _after(work: Work, server: Server, ready: Ready) -> tuple[Server, Moved]:
    request, server = ready.request, prepared(work, server)
    assert server.chance is not None
    place = request.step - server.chance.first
    numbers = np.array([ready.ages.start, request.count, place], np.int32)
    block = Block(ready.answer.values, request.position, numbers)
    found = work.program.advance(server.chain, server.chance.packed, block)
    ledger = server.ledger.used()
    server = server._replace(ledger=ledger, chain=found.chain)
    if ledger.taken == ledger.limit and not is_over(work, server):
        server = _renewed(work, server)
    return server, found


def result_of(work: Work, taken: Taken) -> Result:
    """Return what transitions have given, which the next request does not need."""
    request, found = taken.request, taken.moved
    mark = work.calendar.mark_at(request.step + request.count)
    state = None if mark is None else work.program.state(found.chain)
    made, ages = _made(work.calendar, request), np.array(taken.ages, np.int32)
    return Result(work.program.packing_of_draws, found.draws, made, ages, mark, state)


def _made(calendar: Calendar, request: Request) -> slice:
    """Return which of the iterations that the transitions of a request end give draws."""
    done = calendar.iterations_after(request.step)
    made = calendar.iterations_after(request.step + request.count)
    return slice(max(calendar.num_warmup - done, 0), made - done)


def _renewed(work: Work, server: Server) -> Server:
    calendar, ledger = work.calendar, server.ledger
    iteration = calendar.iterations_after(ledger.taken)
    limit = calendar.first_of(calendar.next_renewal(iteration))
    return server._replace(
        chain=work.program.renewed(server.chain),
        ledger=ledger._replace(limit=limit),
        version=server.version + 1,
    )
