"""Ray itself: one that runs already, or one that is started here. No other file imports it."""

import logging
import os
import signal
import threading
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple, final

from numpyro_sgmcmc.distributed.ray_folder import RayFolder, remove_stale

SPARE_BYTES = 64 * 2**20
"""Memory of the object store besides twice the data."""


@final
@dataclass(frozen=True)
class RayOptions:
    """How workers are started.

    Attributes:
        workers: their number.
        address: of a cluster; None starts Ray on this machine.
        timeout: seconds for a worker to start, and for an answer.
    """

    workers: int
    address: str | None
    timeout: float


@final
class RunningRay(NamedTuple):
    """A Ray that runs.

    Attributes:
        ray: the package.
        is_ours: whether it was started here.
        folder: of the files of a Ray that runs on this machine only and was started here, or None.
    """

    ray: Any
    is_ours: bool
    folder: RayFolder | None

    def close(self) -> None:
        """End a Ray that was started here."""
        if self.is_ours:
            self.ray.shutdown()
        if self.folder is not None:
            self.folder.remove()


def started_ray(options: RayOptions, nbytes: int) -> RunningRay:
    """Return the Ray that runs in this process, or else start one with room for so many bytes.

    Raises:
        RuntimeError: if it does not start.
    """
    ray = required_ray()
    if ray.is_initialized():
        return RunningRay(ray, False, None)
    address, handler = options.address, signal.getsignal(signal.SIGTERM)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    given: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    folder = None
    if address is not None:
        given["address"] = address
    else:
        remove_stale()
        folder = RayFolder()
        given |= {
            "address": "local",
            "num_cpus": options.workers,
            "include_dashboard": False,
            "object_store_memory": 2 * nbytes + SPARE_BYTES * 2,
            "_node_ip_address": "127.0.0.1",
            "_temp_dir": str(folder.path),
        }
    try:
        with warnings.catch_warnings():
            # Ray forks and executes another program at once, which threads of JAX survive.
            warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)
            warnings.filterwarnings("ignore", category=DeprecationWarning)
            warnings.filterwarnings("ignore", category=ResourceWarning)
            warnings.filterwarnings("ignore", category=FutureWarning)
            ray.init(**given)
    except Exception as error:  # a node that does not start in time is a plain `Exception`
        place = f"at {address!r}"
        remedy = "Check the address with `ray status`, or leave `address` out."
        if folder is not None:
            folder.remove()
            place, remedy = "on this machine", "Run again when the machine is less busy."
        raise RuntimeError(f"Expected Ray {place}; got: {error} {remedy}") from error
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)  # Ray sets its own
    return RunningRay(ray, True, folder)


def required_ray() -> Any:
    """Return the package `ray`.

    Raises:
        ImportError: if it is not installed.
    """
    try:
        import ray  # pyright: ignore[reportMissingImports]
        import ray.cloudpickle  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise ImportError(
            "Expected Ray, which runs the workers; it is not installed. Run"
            ' `pip install "numpyro-sgmcmc[distributed]"`.'
        ) from error
    return ray
