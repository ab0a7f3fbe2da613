"""How an actor of a pool is made: its core, its settings of JAX, and the data that it reads."""

import os
from typing import Any, NamedTuple, final

import jax

from numpyro_sgmcmc.cpu.gate import VARIABLE
from numpyro_sgmcmc.distributed.ray_start import RunningRay
from numpyro_sgmcmc.distributed.ray_worker import worker_class
from numpyro_sgmcmc.distributed.shipment import Shipment

CONFIGURED = ("jax_enable_x64", "jax_default_prng_impl", "jax_threefry_partitionable")
"""Settings of JAX on which gradients depend."""


@final
class ActorMaker(NamedTuple):
    """Makes the actors of a pool, all with the same model.

    Attributes:
        kind: the class of the actors, for Ray.
        model: the model, pickled, in the object store.
        arrays: of its arguments, there.
        cores: to which actors are bound; none if they may run on other machines.
    """

    kind: Any
    model: Any
    arrays: Any
    cores: tuple[int, ...]

    def made(self, worker: int) -> Any:
        """Return a new actor for a worker's number. It starts by itself."""
        core = self.cores[worker % len(self.cores)] if self.cores else None
        config: Any = jax.config
        configured = {name: config.values[name] for name in CONFIGURED if name in config.values}
        plain = {VARIABLE: os.environ[VARIABLE]} if VARIABLE in os.environ else {}
        given = core, plain, configured, self.model, self.arrays
        # An event for each message would cost a few percent of it, and fill Ray's table of tasks.
        options = {"num_cpus": 1, "max_restarts": 0, "enable_task_events": False}
        return self.kind.options(**options).remote(*given)


def maker_of(running: RunningRay, shipment: Shipment) -> ActorMaker:
    """Return what makes actors with a model, whose arrays go into the object store now.

    Raises:
        RuntimeError: if they have no room there.
    """
    ray = running.ray
    kind = ray.remote(worker_class())
    model = ray.cloudpickle.dumps(shipment.model)
    try:
        arrays = ray.put(shipment.arrays)
    except ray.exceptions.RayError as error:
        raise RuntimeError(
            f"Expected room for {shipment.nbytes / 1e6:,.0f} MB of data in Ray's object"
            f" store; got: {str(error).rstrip('. ')}. Start the nodes with a larger"
            " `ray start --object-store-memory=...`, free disk space, pass less data, or pass rows"
            " in a file, by `numpy.load(path, mmap_mode='r')`."
        ) from error
    is_known = running.folder is not None and hasattr(os, "sched_getaffinity")
    cores = tuple(sorted(os.sched_getaffinity(0))) if is_known else ()
    return ActorMaker(kind, ray.put(model), arrays, cores)
