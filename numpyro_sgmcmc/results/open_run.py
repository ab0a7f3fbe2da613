"""The results of a run from its folder."""

import os
from pathlib import Path
from typing import Any

from numpyro_sgmcmc.checks import warn_user
from numpyro_sgmcmc.folder import PREFIX, committed, groups
from numpyro_sgmcmc.results.groups import assemble


def open_run(folder: str | os.PathLike) -> Any:
    """Return what a folder of `run` holds, as ArviZ's `InferenceData` (0.x) or `DataTree` (1.x).

    It can be called from any process and at any time, also during the run. It returns the draws of
    the latest commit, and compares every file with the checksum that was written with it. The model
    is not needed.

    Groups: `posterior` (constrained draws), `sample_stats`, and `warmup_posterior` and
    `warmup_sample_stats` if they were collected. Fields of the state that hold values by site, such
    as those of the walkers of Richardson-Romberg, are groups of their own, unconstrained. The
    attributes describe the run and how it ended: `stopped` is "running", "complete", "interrupted"
    or "precise". For the verdict, predictions and the constrained draws of all walkers, call `run`
    with the arguments of the run and then `to_inference_data`. If the run is complete, `run`
    computes no draws.

    Args:
        folder: the folder that `run` was given.

    Raises:
        ValueError: if the folder holds no commit.
        RuntimeError: if a file of draws, or every commit, is damaged; the message names it.
    """
    held, _, damages = committed(Path(folder))
    commit = held.commit
    if damages:
        warn_user(
            f"The newest checkpoint of {str(folder)!r} is damaged ({'; '.join(damages)}). These are"
            f" the {commit.draws['sample']:,} draws of each chain of the one before."
        )
    found: dict[str, dict[str, Any]] = {}
    dims: dict[str, Any] = {}
    for phase in commit.draws:
        for group, members in groups(held, phase).items():
            arrays = {variable.name: held.draws(phase, place) for place, variable in members}
            found[PREFIX[phase] + group] = arrays
            dims |= {variable.name: list(variable.dims) for _, variable in members}
    found = {"posterior": found.pop("posterior", {})} | found
    notes = {"notes": " ".join(commit.notes)} if commit.notes else {}
    attributes = commit.attributes | {"wall_time": commit.wall_time} | notes
    return assemble(found, {}, dims, attributes)
