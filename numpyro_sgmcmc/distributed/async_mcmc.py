"""`AsyncMCMC`: chains whose gradients are computed by workers."""

import os
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from time import perf_counter
from typing import Any, Literal, final

import jax
import numpy as np
from numpyro.diagnostics import print_summary

from numpyro_sgmcmc.checks import check_count, check_number
from numpyro_sgmcmc.distributed.job import (
    Asked,
    Counts,
    first_states,
    job_of,
    model_of,
    planned,
)
from numpyro_sgmcmc.distributed.keeper import DrawsInMemory
from numpyro_sgmcmc.distributed.passes import WorkerPasses
from numpyro_sgmcmc.distributed.planning import share_of, size_of
from numpyro_sgmcmc.distributed.probe import probe_of
from numpyro_sgmcmc.distributed.ray_pool import RayPool
from numpyro_sgmcmc.distributed.ray_start import RayOptions, required_ray
from numpyro_sgmcmc.distributed.resumption import opened
from numpyro_sgmcmc.distributed.sampled import sampled
from numpyro_sgmcmc.folder import Lock, require_zarr
from numpyro_sgmcmc.kernels import AbstractKernel, StaleGradient
from numpyro_sgmcmc.model import fingerprint
from numpyro_sgmcmc.precision import full_precision
from numpyro_sgmcmc.running import AbstractSampler, Run
from numpyro_sgmcmc.staleness import delay_of


@final
class AsyncMCMC(AbstractSampler):
    """Runs a kernel whose gradients are computed by workers in other processes (Chen et al. 2016).

    Each server runs a chain. It sends its position to a worker, moves on with gradients that arrive
    from other workers, and uses the answer some transitions later. Gradients are therefore stale,
    as in `StaleGradient`, whose docstring states the bias and the remedies. This is faster than one
    process if a gradient takes longer than a message, which takes about 1 ms.

    A server takes transition s with the gradient of request s, in this order, and with the
    minibatch of key s. The ages of the gradients are therefore known when a request is sent: an age
    is the number of the server's earlier requests that it has not used yet. With W workers for S
    servers it is W / S - 1 if all answers take equally long. It is at most `max_staleness`; beyond
    that a server waits for its next gradient. With `ages` the draws can be reproduced without
    workers: `StaleGradient(kernel, lambda count: table[count])` with the ages of a server as the
    table gives its draws, up to rounding, for `remedy` None or "curvature".

    Every server takes the same number of transitions, so that the weights T_p / T of Chen et al.
    are equal. A run that is interrupted keeps as many draws of each as all of them have.

    Servers run in this process. So does the warm-up's search for settings, except for its passes
    over all rows, if these have 64 minibatches or more: workers add up a sixteenth of the rows at a
    time. The `num_warmup` iterations use workers. With `remedy="friction"` each transition has the
    friction that compensates the age of its own gradient.

    The attribute `notes` of the results counts failures. A worker that ends or does not answer is
    replaced, and its request is sent to another worker with the same keys and position, so each
    minibatch is used once. An answer is refused if it is late, if it comes from another version of
    the gradient estimator, if its shape is wrong or if it is not finite. If a second answer is not
    finite either, it is used, and the transition is rejected as it would be without workers. Every
    wait is bounded by `timeout`.

    `to_inference_data`, `diagnose` and `report` work as with `MCMC`.

    Args:
        kernel: a kernel of one walker, as for `StaleGradient`.
        num_warmup: iterations of each server that are thrown away.
        num_samples: draws of each server.
        num_servers: number of servers, each of which is a chain.
        num_workers: number of workers, which all servers share.
        max_staleness: largest age of a gradient, in transitions.
        remedy: "friction", "curvature", or None for none; see `StaleGradient`.
        curvature: H of the remedy, as for `StaleGradient`.
        steps_per_request: number of transitions whose gradients a worker computes at one position
            for one message. More than 1 saves messages but makes gradients older, so a warm-up
            chooses a smaller step size. None measures the times of a message and of a gradient, and
            chooses the number of gradients that take as long as a message, within `max_staleness`;
            with a folder it is 1.
        folder: where draws and checkpoints are written, as for `run`; needs the extra `runs`. The
            same call resumes a killed run from the last commit; later draws have the same
            distribution, but other ages and values. None keeps the draws in memory.
        every: seconds between two commits.
        address: of a Ray cluster, such as "auto" or "ray://host:10001". None starts Ray on this
            machine, for this run.
        timeout: seconds for workers to start, and for an answer with the compilation: a gradient,
            or a sixteenth of a pass over all rows.
        progress_bar: whether to show a progress bar.

    Raises:
        TypeError: if an argument has the wrong type, or the kernel's gradients cannot be computed
            elsewhere.
        ValueError: if a number is not positive, or workers would be idle.
    """

    def __init__(
        self,
        kernel: AbstractKernel,
        *,
        num_warmup: int,
        num_samples: int,
        num_servers: int = 1,
        num_workers: int = 2,
        max_staleness: int = 16,
        remedy: Literal["friction", "curvature"] | None = None,
        curvature: Any = None,
        steps_per_request: int | None = 1,
        folder: str | os.PathLike | None = None,
        every: float = 60.0,
        address: str | None = None,
        timeout: float = 300.0,
        progress_bar: bool = True,
    ) -> None:
        delay_of(0, max_staleness)
        for name, value in (
            ("num_samples", num_samples),
            ("num_servers", num_servers),
            ("num_workers", num_workers),
        ):
            check_count(name, value)
        if num_warmup != 0:
            check_count("num_warmup", num_warmup)
        if steps_per_request is not None:
            check_count("steps_per_request", steps_per_request)
        check_number("timeout", timeout)
        check_number("every", every)
        share = share_of(num_workers, num_servers, max_staleness)
        if num_workers > num_servers * (max_staleness + 1):
            raise ValueError(
                f"Expected at most {num_servers * (max_staleness + 1)} workers for {num_servers}"
                f" servers with max_staleness={max_staleness}; got {num_workers}, some of which"
                " would be idle. Use fewer `num_workers`, or raise `max_staleness`."
            )
        if steps_per_request is not None and share * steps_per_request > max_staleness + 1:
            raise ValueError(
                f"Expected `steps_per_request` of at most {(max_staleness + 1) // share} for"
                f" {num_workers} workers and max_staleness={max_staleness}; got"
                f" {steps_per_request}. Raise `max_staleness`, or use fewer workers."
            )
        self.kernel = kernel
        self._stale = StaleGradient(kernel, 0, remedy=remedy, curvature=curvature)
        if kernel.options.minibatch.is_shared:
            raise TypeError(
                "Expected a minibatch scheme of each chain's own; got"
                f" {type(kernel.options.minibatch).__name__}, which servers at different"
                " transitions cannot share. Use UniformMinibatch()."
            )
        self.num_chains = num_servers
        self._counts = Counts(
            num_warmup, num_samples, num_servers, max_staleness, share, steps_per_request or 1
        )
        self._folder = None if folder is None else Path(folder)
        # A folder belongs to one plan of ages, which must not depend on a measurement.
        self._is_open = steps_per_request is None and folder is None
        self._every = every
        self._ray = RayOptions(num_workers, address, timeout)
        self._progress_bar = progress_bar
        self._run: Run | None = None
        self._ages: list[np.ndarray] = []

    @full_precision()
    def run(
        self,
        rng_key: jax.Array,
        *args: Any,
        extra_fields: Sequence[str] = (),
        init_params: Any = None,
        **kwargs: Any,
    ) -> None:
        """Run all servers.

        Args:
            rng_key: the key. The first states are those of `MCMC` with vectorised chains.
            args: arguments of the model. Memory-mapped arrays are not sent: each machine opens the
                file of this path.
            extra_fields: more fields of the state to collect.
            init_params: where chains start, as for `MCMC.run`.
            kwargs: keyword arguments of the model. Their names must differ from those of the
                arguments above.

        Raises:
            ImportError: if Ray is not installed.
            RuntimeError: if workers cannot be started or are lost repeatedly, if the model fails on
                them, if a request is lost, or if another process writes to the folder.
            ValueError: if the folder holds another run.
            KeyboardInterrupt: if the run is interrupted before its first draw.
        """
        required_ray()
        if self._folder is not None:
            require_zarr()
        began, asked = (
            perf_counter(),
            Asked(rng_key, args, kwargs, tuple(extra_fields), init_params),
        )
        with (
            nullcontext() if self._folder is None else Lock(self._folder),
            RayPool(self._ray, model_of(self.kernel, args, kwargs)) as pool,
        ):
            counts = self._counts
            if self._is_open:
                counts = counts._replace(size=self._measured_size(pool, asked))
            kernel = planned(self._stale, counts)
            move, passes = kernel.options.latent_move, None
            if not callable(move):  # a function of the user's belongs to latents of rows
                passes = WorkerPasses(pool, pool.free, move)
            if self._folder is None:
                states = first_states(kernel, counts, asked, passes)
                job = job_of(kernel, counts, asked, states)
                keeper = DrawsInMemory(self.num_chains)
            else:
                found = opened(kernel, counts, asked, passes, self._folder, self._every, began)
                job = job_of(kernel, counts, asked, found.states, found.iterations)
                keeper = found.keeper(kernel, job.work.calendar, self.num_chains)
            pool.configure(job.settings)
            done = sampled(self._stale, counts, job, pool, keeper, self._progress_bar, began)
        self._run, self._ages = done

    def finished(self) -> Run:
        """Return the latest run.

        Raises:
            ValueError: if there is none, or its data have been edited since.
        """
        run = self._run
        if run is None:
            raise ValueError("Expected an AsyncMCMC that has run; call `run(key, ...)` first.")
        if fingerprint(run.target.args, run.target.kwargs) != run.target.fingerprint:
            raise ValueError(
                "Expected the data that the run was made with; got others: an array has been edited"
                " in place since. Run again, and pass a copy of an array that you edit later."
            )
        return run

    @property
    def last_state(self) -> Any:
        """The last state of the chains, with a leading axis if there are several."""
        return self.finished().state

    @property
    def ages(self) -> list[np.ndarray]:
        """The age of the gradient of each transition, for each server, warm-up included."""
        return self._ages

    def get_samples(self, group_by_chain: bool = False) -> dict[str, Any]:
        """Return the draws by site, (draw, ...), or (chain, draw, ...).

        Args:
            group_by_chain: whether to keep the axis of chains.
        """
        return _grouped(self.finished().draws, group_by_chain)

    def get_extra_fields(self, group_by_chain: bool = False) -> dict[str, Any]:
        """Return the collected fields of the state, with the staleness of every draw.

        Args:
            group_by_chain: whether to keep the axis of chains.
        """
        return _grouped(self.finished().fields, group_by_chain)

    def print_summary(self, prob: float = 0.9) -> None:
        """Print the summary of NumPyro's `MCMC`, and how many iterations diverged.

        Args:
            prob: mass of the credible interval.
        """
        run = self.finished()
        print_summary(run.draws, prob=prob, group_by_chain=True)
        print(f"Number of divergences: {int(np.sum(run.fields['diverging']))}")

    def _measured_size(self, pool: RayPool, asked: Asked) -> int:
        probe = probe_of(self.kernel, asked.rng_key, asked.args, asked.kwargs)
        one = pool.gradient_seconds(probe.settings, (), probe.request)
        counts = self._counts
        return size_of(pool.round_trip(), one * probe.per_step, counts.share, counts.bound)


def _grouped(values: dict[str, Any], group_by_chain: bool) -> dict[str, Any]:
    if group_by_chain:
        return values
    return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), values)
