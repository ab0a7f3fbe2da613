"""The loop of the driver: servers ask, workers answer."""

from collections import deque
from typing import NamedTuple

from numpyro_sgmcmc.distributed.bar import ServersBar
from numpyro_sgmcmc.distributed.gradients import SHARED
from numpyro_sgmcmc.distributed.keeper import AbstractDraws
from numpyro_sgmcmc.distributed.ledger import Ledger
from numpyro_sgmcmc.distributed.messages import Request
from numpyro_sgmcmc.distributed.pool import AbstractPool, Answered, Lost
from numpyro_sgmcmc.distributed.server import (
    Server,
    Taken,
    Work,
    is_over,
    moved,
    next_request,
    prepared,
    result_of,
)
from numpyro_sgmcmc.distributed.tally import Tally
from numpyro_sgmcmc.driving.interrupt import Interrupt

TICK = 0.25
"""Seconds after which Ctrl-C is answered."""
MOST_REFUSALS = 5
"""Answers to one request that may be refused."""
MOST_LOSSES = 20
"""Workers that may be lost one after the other without an answer in between."""


class Stopped(NamedTuple):
    """Where the servers stopped, and whether the user interrupted them."""

    servers: list[Server]
    is_interrupted: bool


def carry_out(
    work: Work,
    servers: list[Server],
    pool: AbstractPool,
    keeper: AbstractDraws,
    tally: Tally,
    bar: ServersBar,
) -> Stopped:
    """Run all servers to their end.

    Each server has at most `work.share` requests with workers; a free worker goes to the server
    with the fewest. What a lost worker was asked for, and what was answered wrongly, is asked again
    with the same keys and the same position.

    Raises:
        RuntimeError: if workers are lost again and again, if their answers are refused, or if an
            answer is missing that no worker will give.
    """
    servers, free, again = list(servers), deque[int](), deque[Request]()
    given: deque[tuple[int, Taken]] = deque()
    losses = 0
    with Interrupt() as interrupt:
        while not (is_done := _are_over(work, servers)) and not interrupt.is_asked:
            while free and (request := _next(work, servers, again)) is not None:
                pool.submit(free.popleft(), request)
            # While the workers compute.
            servers[:] = [prepared(work, server) for server in servers]
            _keep(work, given, keeper)
            bar.move(servers, keeper, tally)
            events = pool.wait(TICK)
            if not events and not pool.is_busy:
                raise _stuck(work, servers, len(free))
            for event in events:
                if isinstance(event, Lost):
                    losses += 1
                    # It may have been free; its successor says so itself.
                    free = deque(worker for worker in free if worker != event.worker)
                    tally.lose(event.why)
                    _check_losses(losses, tally)
                    if event.request is not None:
                        again.append(event.request)
                    continue
                free.append(event.worker)
                if isinstance(event, Answered):
                    losses = 0
                    _receive(work, servers, event, again, pool, given, tally)
        _keep(work, given, keeper)
        bar.move(servers, keeper, tally)
    return Stopped(servers, not is_done)


def _are_over(work: Work, servers: list[Server]) -> bool:
    return all(is_over(work, server) for server in servers)


def _keep(work: Work, given: deque[tuple[int, Taken]], keeper: AbstractDraws) -> None:
    """Keep what transitions have given, which waits for them and takes it from the device."""
    while given:
        server, taken = given.popleft()
        keeper.add(server, result_of(work, taken))


def _next(work: Work, servers: list[Server], again: deque[Request]) -> Request | None:
    """Return the next request, and note it in the servers."""
    if again:
        return again.popleft()
    for server in sorted(servers, key=lambda one: one.ledger.in_flight):
        found = next_request(work, server)
        if found is not None:
            servers[server.number], request = found
            return request
    return None


def _receive(
    work: Work,
    servers: list[Server],
    event: Answered,
    again: deque[Request],
    pool: AbstractPool,
    given: deque[tuple[int, Taken]],
    tally: Tally,
) -> None:
    """Note an answer, and let its server move on if its turn has come."""
    before = servers[event.request.server]
    ledger, reason = before.ledger.received(event.request, event.answer)
    if reason is not None:
        tally.refuse(reason)
        _check_refusals(ledger, event.request, reason)
        if ledger.is_waiting_for(event.request):
            again.append(event.request)
    server, taken = moved(work, before._replace(ledger=ledger))
    servers[server.number] = server
    if server.version != before.version:
        pool.hold(server.number, server.version, work.program.state(server.chain).gradient)
    given += [(server.number, one) for one in taken]


def _check_refusals(ledger: Ledger, request: Request, reason: str) -> None:
    count = ledger.refusals(request)
    if count > MOST_REFUSALS:
        raise RuntimeError(
            f"Expected gradients for transition {request.step:,} of server {request.server}; got"
            f" {count} answers that were refused, the last one as {reason}. Use the same"
            " versions of the model, of numpyro_sgmcmc and of JAX on all machines."
        )


def _check_losses(losses: int, tally: Tally) -> None:
    if losses > MOST_LOSSES:
        raise RuntimeError(
            f"Expected workers that answer; got {losses} that were lost one after the other"
            f" ({tally.words()}). If they need more memory than there is, use fewer workers."
        )


def _stuck(work: Work, servers: list[Server], free: int) -> RuntimeError:
    """Return the error of servers whose workers have nothing to do."""
    waiting = ", ".join(
        f"transition {one.ledger.taken:,} of server {one.number}"
        for one in servers
        if not is_over(work, one)
    )
    return RuntimeError(
        f"Expected a worker that computes the gradient of {waiting}; got {free} free workers, and"
        " none that computes or starts: a request was lost. Run again; with `folder=...` a run"
        " goes on from its last commit. If it happens again, please report it."
    )


def hold_all(work: Work, servers: list[Server], pool: AbstractPool, is_shared: bool) -> None:
    """Send the workers the states of the servers' gradient estimators, once if they are shared."""
    for server in servers[:1] if is_shared else servers:
        place = SHARED if is_shared else server.number
        pool.hold(place, server.version, work.program.state(server.chain).gradient)
