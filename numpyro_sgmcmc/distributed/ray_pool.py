"""Workers as actors of Ray."""

from statistics import median
from time import perf_counter
from types import TracebackType
from typing import Any, NamedTuple, final

import jax

from numpyro_sgmcmc.distributed.gradients import Model, Settings
from numpyro_sgmcmc.distributed.messages import Part, Request, packed, unpacked
from numpyro_sgmcmc.distributed.pool import AbstractPool, Answered, Event, Joined, Lost
from numpyro_sgmcmc.distributed.ray_actors import maker_of
from numpyro_sgmcmc.distributed.ray_start import RayOptions, started_ray
from numpyro_sgmcmc.distributed.shipment import shipment_of

PINGS = 20


class _Call(NamedTuple):
    """A call of an actor: its purpose, its worker, what it asks for, and its last moment."""

    purpose: str
    worker: int
    request: Request | Part | None
    until: float


@final
class RayPool(AbstractPool):
    """Actors of Ray, from `with` to the end of its block.

    The data are put into the object store once, and each node's workers read them there. Data in
    files are opened by each worker. A worker
    uses one thread and the CPU, and is bound to a core where Ray runs on this machine only. A Ray
    that is started here listens on the loopback interface, has no dashboard, and ends with the
    block. An actor that dies, or does not answer in time, is replaced.

    Args:
        options: how workers are started.
        model: the model, with NumPy arrays. `shipment` is what workers get of it.
    """

    def __init__(self, options: RayOptions, model: Model) -> None:
        self._options, self.shipment = options, shipment_of(model)
        self._actors: dict[int, Any] = {}
        self._calls: dict[Any, _Call] = {}
        self._new: list[Event] = []
        self._settings: Any = None
        self._states: dict[int, tuple[int, Any]] = {}
        self._up: set[int] = set()
        self.workers: dict[int, dict[str, Any]] = {}

    def __enter__(self) -> "RayPool":
        self._running = started_ray(self._options, self.shipment.nbytes)
        self._ray = self._running.ray
        try:
            self._start_workers()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the actors, and the Ray that was started here."""
        for actor in self._actors.values():
            self._ray.kill(actor, no_restart=True)
        self._actors.clear()
        self._calls.clear()
        self._running.close()

    def round_trip(self, message: Any = b"", times: int = PINGS) -> float:
        """Return the seconds of a call of the first worker that returns what it is given."""
        seconds = []
        for _ in range(times):
            begin = perf_counter()
            self._get(self._actors[0].ping.remote(message))
            seconds.append(perf_counter() - begin)
        return median(seconds)

    def gradient_seconds(self, settings: Settings, state: Any, request: Request) -> float:
        """Return the seconds of a gradient, for the first worker, after its compilation."""
        actor = self._actors[0]
        self._get(actor.prepare.remote(self._packed(settings)))
        self._get(actor.hold.remote(request.server, request.version, state))
        answers = [self._get(actor.answer.remote(packed(request))) for _ in range(PINGS)]
        return median(unpacked(answer).seconds for answer in answers[1:])

    def configure(self, settings: Settings) -> None:
        """Tell all workers what they will be asked for. They are free then."""
        self._settings = self._ray.put(self._packed(settings))
        for worker, actor in self._actors.items():
            self._call("prepare", worker, None, actor.prepare.remote(self._settings))
        self._new += map(Joined, sorted(self._up))

    def hold(self, server: int, version: int, state: Any) -> None:
        """Send all workers the state of a server's gradient estimator."""
        reference = self._ray.put(jax.device_get(state))
        self._states[server] = version, reference
        for worker, actor in self._actors.items():
            self._call("hold", worker, None, actor.hold.remote(server, version, reference))

    @property
    def free(self) -> list[int]:
        """The workers that have started, before anything is asked of them."""
        return sorted(self._up)

    def submit(self, worker: int, request: Request | Part) -> None:
        """Send a request to a free worker."""
        actor = self._actors[worker]
        if isinstance(request, Part):
            reference = actor.part.remote(request.number, request.task)
        else:
            reference = actor.answer.remote(packed(request))
        self._call("answer", worker, request, reference)

    @property
    def is_busy(self) -> bool:
        """Whether a call has not ended, or an event was not told."""
        return bool(self._calls or self._new)

    def wait(self, seconds: float) -> list[Event]:
        """Return what has happened, after at most so many seconds."""
        events, self._new = self._new, []
        if not self._calls:
            return events
        limit = 0.0 if events else seconds
        if len(self._calls) == 1:  # `get` alone is faster than `wait` and `get`
            [(reference, call)] = self._calls.items()
            try:
                return events + self._outcome(reference, call, limit)
            except self._ray.exceptions.GetTimeoutError:
                limit = 0.0  # it has not ended, or what it gave is out of reach
        found, _ = self._ray.wait(list(self._calls), num_returns=1, timeout=limit)
        for reference in found:
            events += self._ended(reference)
        return events + self._late(perf_counter())

    def _ended(self, reference: Any) -> list[Event]:
        """Return what follows from a call that has ended, even if what it gave is out of reach."""
        call = self._calls[reference]
        try:
            return self._outcome(reference, call, self._options.timeout)
        except self._ray.exceptions.GetTimeoutError:
            return self._replaced(call.worker, "ended")

    def _outcome(self, reference: Any, call: _Call, seconds: float) -> list[Event]:
        """Return what follows from a call that gives its value within so many seconds.

        Raises:
            GetTimeoutError: of Ray, if it does not.
            RuntimeError: if the model fails in the worker.
        """
        errors = self._ray.exceptions
        try:
            value = self._ray.get(reference, timeout=seconds)
        except errors.GetTimeoutError:
            raise
        except errors.RayTaskError as error:
            raise RuntimeError(
                f"Expected gradients from worker {call.worker}; got an error inside it:"
                f" {error}. Every machine needs the packages of the model, and the files of its"
                " data if they are in files."
            ) from error
        except errors.RayError:
            return self._replaced(call.worker, "ended")
        del self._calls[reference]
        if call.request is not None:
            return [Answered(call.worker, call.request, unpacked(value))]
        if call.purpose == "start":
            self.workers[call.worker] = value
            self._up.add(call.worker)
            return [Joined(call.worker)]
        return []

    def _late(self, now: float) -> list[Event]:
        """Return what follows from calls that have not ended in time."""
        found = [reference for reference, call in self._calls.items() if call.until < now]
        if not found:
            return []
        # What has ended since then, while this process did something else, is not late.
        _, found = self._ray.wait(found, num_returns=len(found), timeout=0)
        late = [self._calls[reference] for reference in found]
        if any(call.purpose == "start" for call in late):
            raise self._not_placed({call.worker for call in late})
        workers = sorted({call.worker for call in late})
        return [event for worker in workers for event in self._replaced(worker, "silent")]

    def _replaced(self, worker: int, why: str) -> list[Event]:
        """End an actor, start another one in its place, and return what the old one leaves."""
        left = [call.request for call in self._calls.values() if call.worker == worker]
        self._calls = {r: call for r, call in self._calls.items() if call.worker != worker}
        self._new = [one for one in self._new if one.worker != worker]
        self._ray.kill(self._actors[worker], no_restart=True)
        self._up.discard(worker)
        self._start(worker)
        actor = self._actors[worker]
        if self._settings is not None:
            self._call("prepare", worker, None, actor.prepare.remote(self._settings))
        for server, (version, state) in self._states.items():
            self._call("hold", worker, None, actor.hold.remote(server, version, state))
        requests = [one for one in left if one is not None]
        return [Lost(worker, request, why) for request in requests or [None]]

    def _call(
        self, purpose: str, worker: int, request: Request | Part | None, reference: Any
    ) -> None:
        until = perf_counter() + self._options.timeout
        self._calls[reference] = _Call(purpose, worker, request, until)

    def _get(self, reference: Any) -> Any:
        try:
            return self._ray.get(reference, timeout=self._options.timeout)
        except self._ray.exceptions.RayError as error:
            raise RuntimeError(
                f"Expected an answer of a worker within {self._options.timeout:g} s; got: {error}."
                " Check that the model runs on every machine, or raise `timeout`."
            ) from error

    def _packed(self, settings: Settings) -> bytes:
        return self._ray.cloudpickle.dumps(settings)

    def _start_workers(self) -> None:
        ray, options = self._ray, self._options
        self._maker = maker_of(self._running, self.shipment)
        for worker in range(options.workers):
            self._start(worker)
        references = {reference: call.worker for reference, call in self._calls.items()}
        found, missing = ray.wait(
            list(references), num_returns=len(references), timeout=options.timeout
        )
        if missing:
            raise self._not_placed({references[reference] for reference in missing})
        for reference in found:
            self._ended(reference)

    def _start(self, worker: int) -> None:
        self._actors[worker] = self._maker.made(worker)
        self._call("start", worker, None, self._actors[worker].ready.remote())

    def _not_placed(self, missing: set[int]) -> RuntimeError:
        options, free = self._options, self._ray.cluster_resources().get("CPU", 0)
        return RuntimeError(
            f"Expected {options.workers} workers within {options.timeout:g} s; got"
            f" {options.workers - len(missing)}. Each needs one CPU of Ray, and there are"
            f" {free:g}. Use fewer `num_workers`, add nodes, or raise `timeout`."
        )
