"""`sg.run`: NumPyro's `MCMC`, driven so that it can be watched, stopped and resumed."""

import os
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import jax
from numpyro.infer import MCMC

from numpyro_sgmcmc.checks import check_instance, check_number
from numpyro_sgmcmc.driving.bar import Bar
from numpyro_sgmcmc.driving.collected import collected_of
from numpyro_sgmcmc.driving.compiled import passed_to, program_of
from numpyro_sgmcmc.driving.finish import conclude, leave_to_mcmc, read_back, sentence_of
from numpyro_sgmcmc.driving.first import first_states
from numpyro_sgmcmc.driving.identity import run_identity
from numpyro_sgmcmc.driving.loop import TARGET, Stopped, Work, carry_out
from numpyro_sgmcmc.driving.memory import DrawsInMemory
from numpyro_sgmcmc.driving.on_disk import DrawsOnDisk
from numpyro_sgmcmc.driving.options import check_until, is_together, layout_of
from numpyro_sgmcmc.driving.plan import plan_of
from numpyro_sgmcmc.driving.program import Layout
from numpyro_sgmcmc.driving.session import Asked, keeper_of, look_into, restored
from numpyro_sgmcmc.driving.until import Until
from numpyro_sgmcmc.folder import Lock, require_zarr

KEPT = 2_048
"""Draws of a chain that stay in memory for the bar if the others go to a folder."""


def run(
    mcmc: MCMC,
    rng_key: jax.Array,
    *args: Any,
    folder: str | os.PathLike | None = None,
    every: float = 60.0,
    until: Until | None = None,
    resume: Literal["exact", "law"] = "exact",
    collect_warmup: bool = False,
    progress_bar: bool | None = None,
    extra_fields: Sequence[str] = (),
    init_params: Any = None,
    **kwargs: Any,
) -> None:
    """Run an `MCMC` so that it can be watched, stopped, killed and resumed.

    The draws equal those of `mcmc.run` to the bit. They may differ by rounding if flags of XLA
    select another code generation, in which the bits of a loop depend on the program around it, or
    if data are in files or have 64 MB or more, which are inputs of the program here.
    Afterwards `mcmc.get_samples`, `get_extra_fields`, `print_summary` and `last_state`, and
    `to_inference_data`, `diagnose` and `report`, work as after `mcmc.run`. Any NumPyro kernel can
    be run.

    The iterations are computed by one compiled program, which is called a few times a second.
    Between two calls the progress bar moves, and Ctrl-C ends the run and keeps the draws so far. A
    second run of the same `MCMC` compiles nothing.

    With a `folder`, draws are written there during the run, and memory does not grow with their
    number. The folder's `draws.zarr` is a Zarr store in ArviZ's layout. Every `every` seconds the
    draws and the state of the chains are committed. If the process is killed, the same call resumes
    the run from the last commit, and the draws are those of a run that was never stopped, to the
    bit. A call with more `num_samples` goes on from the end of a finished run. `open_run` reads the
    folder, from any process, at any time.

    Args:
        mcmc: NumPyro's `MCMC`, with any kernel. Its chains are "vectorized", "sequential" or
            "parallel".
        rng_key: the key, or one key for each chain, as for `mcmc.run`.
        args: arguments of the model. Memory-mapped arrays are read where they are, and arrays of
            64 MB or more are inputs of the program, not constants.
        folder: where draws and checkpoints are written; needs `pip install 'numpyro-sgmcmc[runs]'`.
            None keeps the draws in memory.
        every: seconds between two commits. Draws after the last commit are computed again if the
            process is killed.
        until: a condition at which the run ends before `num_samples`, such as
            `until(ess=400, r_hat=1.01)`.
        resume: "exact" refuses a folder if anything differs from the run that began it, such as
            data, options or the version of JAX. "law" continues if only versions or the machine
            differ: later draws have the same distribution, but not the same bits. The attribute
            `notes` of the results says so.
        collect_warmup: whether to keep draws of the warm-up too, for the groups `warmup_posterior`
            and `warmup_sample_stats`.
        progress_bar: whether to show a progress bar. None is what `mcmc` was given.
        extra_fields: more fields of the state to collect, as for `mcmc.run`.
        init_params: where chains start, as for `mcmc.run`.
        kwargs: keyword arguments of the model. Their names must differ from those of the arguments
            above.

    Raises:
        TypeError: if an argument has the wrong type, or `chain_method` is a transformation.
        ValueError: if the folder holds another run or other files.
        RuntimeError: if another process writes to the folder, or its files are damaged.
        OSError: if the folder cannot be written to, or the disk is full. The last commit is intact.
        ImportError: if a folder is given and zarr is not installed.
        KeyboardInterrupt: if the run is interrupted before its first draw.
    """
    began = perf_counter()
    check_instance("mcmc", mcmc, MCMC, "MCMC(kernel, num_warmup=1000, num_samples=1000)")
    check_number("every", every)
    if resume not in ("exact", "law"):
        raise ValueError(
            f'Expected `resume` to be "exact" or "law"; got {resume!r}. Use "law" to continue with'
            " other versions or on another machine."
        )
    layout = layout_of(mcmc)
    passed = passed_to(mcmc, layout, (args, kwargs))
    model = passed.whole()
    collected = collected_of(mcmc._sample_field, (*mcmc._default_fields, *extra_fields))
    num_warmup = 0 if mcmc.post_warmup_state is not None else mcmc.num_warmup
    plan = plan_of(num_warmup, mcmc.num_samples, mcmc.thinning, collect_warmup)
    if folder is not None:
        require_zarr()
    with Lock(Path(folder)) if folder is not None else nullcontext():
        asked = found = None
        if folder is not None:
            identity = run_identity(mcmc, rng_key, collected, init_params, collect_warmup, model)
            kept = KEPT if until is None else until.kept(layout.chains)
            asked = Asked(Path(folder), every, resume == "law", identity, kept, began)
            found = look_into(asked, plan, mcmc.num_samples)
        mcmc._args, mcmc._kwargs = args, kwargs
        program = program_of(mcmc, layout, collected, passed)
        if found is None:
            state = first_states(mcmc, layout, program, rng_key, init_params, args, kwargs)
        else:
            state = restored(mcmc, layout, rng_key, found, model)
        is_new = found is None and mcmc.post_warmup_state is None
        state = program.prepared(state, model, is_new)
        shapes = program.shapes(state, model)
        check_until(until, mcmc.sampler, shapes[mcmc._sample_field])
        if asked is None:
            keeper = DrawsInMemory(mcmc._sample_field, plan, shapes)
        else:
            keeper = keeper_of(mcmc, asked, plan, program, state, passed, found)
        done = 0 if found is None else found.commit.iterations
        together = is_together(mcmc.sampler)
        capacity = program.capacity(state, model)
        target = min(TARGET, every) if folder is not None else TARGET
        work = Work(program, passed.inputs, plan, capacity, keeper, until, together, target)
        bar = Bar(plan, done, mcmc.progress_bar if progress_bar is None else progress_bar, together)
        try:
            if found is None:
                keeper.save(state, 0)
            stopped = carry_out(work, state, done, bar)
            _finish(mcmc, keeper, stopped, work, shapes, layout, perf_counter() - began)
        except OSError as error:
            if isinstance(keeper, DrawsOnDisk):
                raise keeper.told(error) from error
            raise
        finally:
            bar.close()


def _finish(
    mcmc: MCMC,
    keeper: DrawsInMemory | DrawsOnDisk,
    stopped: Stopped,
    work: Work,
    shapes: Any,
    layout: Layout,
    seconds: float,
) -> None:
    plan, notes = work.plan, ()
    if isinstance(keeper, DrawsOnDisk):
        keeper.finish(stopped.state, stopped.iterations, stopped.why, sentence_of(plan, stopped))
        grouped, flat, warmup = read_back(keeper, plan, shapes)
        notes, seconds = tuple(keeper.last.notes), keeper.last.wall_time
    else:
        grouped, flat = keeper.taken("sample", plan.draws_after(stopped.iterations))
        warmup = None
        if plan.collects_warmup:
            warmup, _ = keeper.taken("warmup", plan.draws_after(stopped.iterations, "warmup"))
    leave_to_mcmc(mcmc, stopped.state, layout, grouped, flat)
    conclude(mcmc, plan, stopped, warmup, seconds, notes)
