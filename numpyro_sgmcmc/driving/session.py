"""The beginning of a run in a folder: a new one, or one that is resumed."""

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from numpyro.infer import MCMC

from numpyro_sgmcmc.checks import warn_user
from numpyro_sgmcmc.driving.first import bind, keys_of, template
from numpyro_sgmcmc.driving.identity import PROGRAM, check_same, program_identity
from numpyro_sgmcmc.driving.on_disk import DrawsOnDisk, Fixed
from numpyro_sgmcmc.driving.passed import Passed
from numpyro_sgmcmc.driving.plan import Plan
from numpyro_sgmcmc.driving.program import Layout, Program
from numpyro_sgmcmc.driving.sampled import History, by_site
from numpyro_sgmcmc.folder import (
    Commit,
    Committed,
    Recorder,
    Variable,
    as_state,
    classes_of,
    clear_unfinished,
    committed,
    decoded,
    is_foreign,
    layout_of,
    length_of,
    numbers,
)
from numpyro_sgmcmc.kernels import NumPyroKernel


class Asked(NamedTuple):
    """What the user asks of a run in a folder.

    Attributes:
        folder: the folder.
        every: seconds between two commits.
        allows_other_bits: whether versions and the machine may differ.
        identity: what the run is, without its program.
        kept: most draws of a chain that are kept in memory to judge the run by.
        began: when the run began, by `perf_counter`.
    """

    folder: Path
    every: float
    allows_other_bits: bool
    identity: dict[str, str]
    kept: int
    began: float


class Found(NamedTuple):
    """What a folder holds.

    Attributes:
        committed: its draws.
        arrays: the arrays of its commit.
        notes: what must be known of the run.
    """

    committed: Committed
    arrays: dict[str, list[np.ndarray]]
    notes: list[str]

    @property
    def commit(self) -> Commit:
        """The newest intact commit."""
        return self.committed.commit


def look_into(asked: Asked, plan: Plan, num_samples: int) -> Found | None:
    """Return what a locked folder holds of this run; None if the run is new.

    Raises:
        ValueError: if it holds other files, another run, or more draws than are asked for.
        RuntimeError: if no commit is intact, or a file of draws is damaged.
    """
    folder = asked.folder
    if foreign := is_foreign(folder):
        raise ValueError(
            f"Expected an empty folder, or one of `sg.run`; {str(folder)!r} holds {foreign[:3]}."
            " Choose another `folder`."
        )
    clear_unfinished(folder)
    if not numbers(folder):
        return None
    found, arrays, damages = committed(folder)
    found.check_files()
    commit, notes = found.commit, list(found.commit.notes)
    old = {name: value for name, value in commit.identity.items() if name != PROGRAM}
    if changed := check_same(old, asked.identity, str(folder), asked.allows_other_bits):
        notes.append(f"After {commit.draws['sample']:,} draws: {'; '.join(changed)}.")
    _check_samples(commit, plan, num_samples)
    if damages:
        words = (
            f"The newest checkpoint of {str(folder)!r} is damaged ({'; '.join(damages)}). The run"
            f" goes on from the one before, at {commit.draws['sample']:,} draws of each chain."
        )
        warn_user(words)
    return Found(found, arrays, notes)


def _check_samples(commit: Commit, plan: Plan, num_samples: int) -> None:
    held, thinning = commit.draws["sample"], plan.thinning
    if plan.draws < held:
        raise ValueError(
            f"Expected at least the {commit.num_samples:,} `num_samples` that the folder's run was"
            f" asked for; got {num_samples:,}, but it holds {held:,} draws of each chain already."
            " Use `open_run` to read them."
        )
    if (num_samples - commit.num_samples) % thinning:
        rest = commit.num_samples % thinning
        raise ValueError(
            f"Expected `num_samples` that leave the remainder {rest} by `thinning`={thinning}, as"
            f" in the folder's run; got {num_samples:,}, which would give other draws. Use"
            f" {num_samples - (num_samples - rest) % thinning:,}."
        )


def restored(
    mcmc: MCMC, layout: Layout, rng_key: Any, found: Found, model: tuple[tuple, dict]
) -> Any:
    """Return the state of a commit, and give the kernel its preparation.

    Nothing of the warm-up is computed again.

    Raises:
        ValueError: if the state is not one that this kernel makes.
    """
    kernel, commit = mcmc.sampler, found.commit
    keys = keys_of(layout, rng_key)
    if isinstance(kernel, NumPyroKernel):
        parts = dict(enumerate(found.arrays["prepared"]))
        known = set().union(*(classes_of(part) for part in vars(kernel.options).values()))
        prepared = decoded(commit.prepared, parts, known)
        if prepared is not None:
            target, _ = kernel.memory.bind(kernel.model, kernel.options, *model)
            kernel.memory.remember(target, kernel.options, mcmc.num_warmup, prepared)
    shaped = template(mcmc, layout, keys, *model)
    bind(mcmc, layout, keys, *model)
    if layout.is_sequential:
        shaped = [shaped] * layout.chains
    elif layout.is_mapped:
        shaped = jax.tree.map(
            lambda x: jax.ShapeDtypeStruct((layout.chains, *x.shape), x.dtype), shaped
        )
    return as_state(found.arrays["state"], commit.leaves, shaped)


def keeper_of(
    mcmc: MCMC,
    asked: Asked,
    plan: Plan,
    program: Program,
    state: Any,
    passed: Passed,
    found: Found | None,
) -> DrawsOnDisk:
    """Return what writes the draws, after the program has been compared with the folder's.

    Raises:
        ValueError: if the computation of an iteration is not the one of the folder's run.
    """
    shapes = program.shapes(state, passed.whole())
    kernel, field = mcmc.sampler, mcmc._sample_field
    is_ours = isinstance(kernel, NumPyroKernel)
    identity = asked.identity | {
        PROGRAM: program_identity(program.iteration, (passed.inputs, program.one(state)))
    }
    history = History(asked.kept)
    if found is None:
        layout = layout_of(shapes, field, kernel.structure.dims if is_ours else {})
        last = _before_the_first(mcmc, asked, plan, identity, layout)
        rest: dict[str, list[np.ndarray]] = {phase: [] for phase in last.draws}
    else:
        layout, last = found.committed.layout, found.commit
        notes = list(found.notes)
        changed = check_same(last.identity, identity, str(asked.folder), asked.allows_other_bits)
        notes += [words for words in changed if words.startswith(PROGRAM)]
        last = replace(last, identity=identity, notes=notes, num_samples=mcmc.num_samples)
        rest = {phase: found.arrays[f"rest_{phase}"] for phase in last.draws}
        _remember_draws(history, found.committed, shapes, field)
    recorder = Recorder(asked.folder, layout, mcmc.num_chains, last.length, last.sums, rest)
    memory = kernel.memory if is_ours else None
    fixed = Fixed(
        asked.folder,
        asked.every,
        plan,
        asked.kept,
        None if memory is None else memory.latest,
        last.attributes | {"num_samples": mcmc.num_samples},
        asked.began,
        last.wall_time,
    )
    return DrawsOnDisk(fixed, last, recorder, field, history)


def _before_the_first(
    mcmc: MCMC, asked: Asked, plan: Plan, identity: dict[str, str], layout: list[Variable]
) -> Commit:
    phases = [segment.phase for segment in plan.segments]
    attributes = {
        "inference_library": "numpyro_sgmcmc",
        "inference_library_version": identity["versions.numpyro_sgmcmc"],
        **identity,
        "num_chains": mcmc.num_chains,
        "num_warmup": mcmc.num_warmup,
        "thinning": mcmc.thinning,
    }
    return Commit(
        number=0,
        identity=identity,
        layout=[asdict_of(variable) for variable in layout],
        length=length_of(layout, mcmc.num_chains),
        num_samples=mcmc.num_samples,
        iterations=0,
        draws=dict.fromkeys(phases, 0),
        sums={phase: [] for phase in phases},
        status="running",
        sentence="running",
        wall_time=0.0,
        notes=[],
        leaves=[],
        prepared=None,
        arrays={},
        attributes=attributes,
        state={},
    )


def asdict_of(variable: Variable) -> dict[str, Any]:
    """Return a variable as JSON holds it."""
    return variable._asdict() | {"shape": list(variable.shape), "dims": list(variable.dims)}


def _remember_draws(history: History, held: Committed, shapes: Any, field: str) -> None:
    """Fill the history as the process that drew them did, one file of draws after the other."""
    if not held.commit.draws["sample"]:
        return
    places = [i for i, variable in enumerate(held.layout) if variable.field == field]
    form = jax.tree.structure(shapes[field])
    for draws in held.parts("sample", places):
        history.add(by_site(jax.tree.unflatten(form, draws)))
