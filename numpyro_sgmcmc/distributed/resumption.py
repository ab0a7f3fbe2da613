"""A run with workers in a folder: a new one, or one that is resumed.

The folder is that of `sg.run` with the kernel and vectorised chains, marked as one of servers.
"""

from pathlib import Path
from typing import Any, NamedTuple

from numpyro.infer import MCMC

from numpyro_sgmcmc.distributed.calendar import Calendar
from numpyro_sgmcmc.distributed.folder_draws import DrawsInFolder
from numpyro_sgmcmc.distributed.job import Asked, Counts, collected_by, first_states
from numpyro_sgmcmc.driving.compiled import passed_to, program_of
from numpyro_sgmcmc.driving.identity import run_identity
from numpyro_sgmcmc.driving.on_disk import DrawsOnDisk
from numpyro_sgmcmc.driving.plan import Plan, plan_of
from numpyro_sgmcmc.driving.program import Layout
from numpyro_sgmcmc.driving.session import Asked as AskedOfFolder
from numpyro_sgmcmc.driving.session import keeper_of, look_into, restored
from numpyro_sgmcmc.kernels import StaleGradient
from numpyro_sgmcmc.preparation import AbstractPasses

KEPT = 2_048
"""Draws of a chain that stay in memory."""


class Opened(NamedTuple):
    """A folder that is ready to be written to.

    Attributes:
        states: of the chains, as the kernel makes them.
        iterations: how many of them the folder has.
        disk: what writes the folder.
        plan: the iterations, as the folder counts them.
        shapes: what is kept of one draw, by field.
    """

    states: Any
    iterations: int
    disk: DrawsOnDisk
    plan: Plan
    shapes: Any

    def keeper(self, kernel: StaleGradient, calendar: Calendar, servers: int) -> DrawsInFolder:
        """Return what keeps the draws of this run."""
        staleness = kernel.options.staleness
        assert staleness is not None
        given = self.disk, self.plan, calendar, servers, self.iterations
        return DrawsInFolder(*given, staleness.delay.largest, self.shapes)


def opened(
    kernel: StaleGradient,
    counts: Counts,
    asked: Asked,
    passes: AbstractPasses | None,
    folder: Path,
    every: float,
    began: float,
) -> Opened:
    """Return a locked folder's run, begun or found.

    Raises:
        ValueError: if the folder holds another run or other files.
        RuntimeError: if its files are damaged.
    """
    mcmc = MCMC(
        kernel,
        num_warmup=counts.num_warmup,
        num_samples=counts.num_samples,
        num_chains=counts.num_servers,
        chain_method="vectorized",
        progress_bar=False,
    )
    layout, model = Layout(counts.num_servers, "vectorized"), (asked.args, asked.kwargs)
    collected = collected_by(kernel, asked)
    identity = run_identity(mcmc, asked.rng_key, collected, asked.init_params, False, model)
    identity |= {"driver": "asynchronous servers"}
    of_folder = AskedOfFolder(folder, every, False, identity, KEPT, began)
    plan = plan_of(counts.num_warmup, counts.num_samples, 1, False)
    found = look_into(of_folder, plan, counts.num_samples)
    if found is None:
        states = first_states(kernel, counts, asked, passes)
    else:
        states = restored(mcmc, layout, asked.rng_key, found, model)
    passed = passed_to(mcmc, layout, model)
    program = program_of(mcmc, layout, collected, passed)
    states = program.prepared(states, model)
    disk = keeper_of(mcmc, of_folder, plan, program, states, passed, found)
    if found is None:
        disk.save(states, 0)
    done = 0 if found is None else found.commit.iterations
    return Opened(states, done, disk, plan, program.shapes(states, model))
