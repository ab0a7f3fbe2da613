"""The actor that computes gradients, made so that JAX is imported late."""

from typing import Any


def worker_class() -> type:
    """Return the class of the actors.

    It is local to this function, so that it is pickled by value: a worker process can unpickle it
    without importing this package and JAX with it. XLA sizes its pool of threads by what its
    process may use when its backend is made, so that is set first.
    """

    class GradientWorker:
        def __init__(
            self,
            core: int | None,
            environment: dict[str, str],
            configured: dict[str, Any],
            model: bytes,
            arrays: list[Any],
        ) -> None:
            import os
            import sys

            self._is_late = "jax" in sys.modules
            os.environ.update({**environment, "NPROC": "1", "JAX_PLATFORMS": "cpu"})
            if core is not None:
                os.sched_setaffinity(0, {core})
            import jax

            # There is nothing to do meanwhile, and to hand small programs to a thread takes time.
            jax.config.update("jax_cpu_enable_async_dispatch", False)
            for name, value in configured.items():
                jax.config.update(name, value)
            self._model, self._arrays = model, arrays
            self._program: Any = None
            self._sums: Any = None

        def ready(self) -> dict[str, Any]:
            import os

            import jax

            jax.devices()
            shares = not any(x.flags.owndata or x.flags.writeable for x in self._arrays)
            return {"pid": os.getpid(), "is_late": self._is_late, "shares_data": shares}

        def ping(self, value: Any) -> Any:
            return value

        def prepare(self, settings: bytes) -> None:
            from pickle import loads

            from numpyro_sgmcmc.distributed.gradients import GradientProgram
            from numpyro_sgmcmc.distributed.shipment import received

            model = received(loads(self._model), self._arrays)
            self._program = GradientProgram(model, loads(settings))

        def part(self, number: int, task: bytes) -> Any:
            from pickle import loads

            from numpyro_sgmcmc.distributed.part_sums import PartSums
            from numpyro_sgmcmc.distributed.shipment import received

            if self._sums is None:
                self._sums = PartSums(received(loads(self._model), self._arrays))
            return self._sums.part(number, task)

        def hold(self, server: int, version: int, state: Any) -> None:
            if self._program is not None:  # else `prepare` has raised the error that counts
                self._program.hold(server, version, state)

        def answer(self, message: Any) -> Any:
            return self._program.reply(message)

    return GradientWorker
