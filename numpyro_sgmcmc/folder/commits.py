"""Commits: what a folder holds, by number. A draw counts once a commit names it."""

import io
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np

from numpyro_sgmcmc.folder.files import UNFINISHED, checksum, write_whole

FORMAT = 1
KEPT = 2
"""Commits that are kept: the newest, and one to fall back to."""


class Damaged(RuntimeError):
    """A file of a folder is missing, torn, or has other content than was written."""


@final
@dataclass(frozen=True)
class Commit:
    """What a folder holds at a moment.

    Attributes:
        number: number of commits before.
        identity: what the run is, by name; see `driving/identity.py`.
        layout: what is kept of a draw; see `Variable`.
        length: draws of each chain in a file of draws.
        num_samples: number of samples that were asked for.
        iterations: number of iterations of each chain.
        draws: number of draws of each chain, by phase.
        sums: by phase, for each full file of draws, checksums of its variables.
        status: "running", "complete", "interrupted" or "precise".
        sentence: how the run ended, in words.
        wall_time: seconds that the run took so far.
        notes: what must be known of the run.
        leaves: what describes the arrays of the state.
        prepared: the kernel's preparation as JSON; None if there is none.
        arrays: numbers of arrays of the state, of the preparation, and by phase of the draws that
            fill no file.
        attributes: attributes of the results.
        state: size and checksum of the file with the arrays.
    """

    number: int
    identity: dict[str, str]
    layout: list[dict[str, Any]]
    length: int
    num_samples: int
    iterations: int
    draws: dict[str, int]
    sums: dict[str, list[list[int]]]
    status: str
    sentence: str
    wall_time: float
    notes: list[str]
    leaves: list[dict[str, Any]]
    prepared: Any
    arrays: dict[str, int]
    attributes: dict[str, Any]
    state: dict[str, Any]
    format: int = FORMAT


def write_commit(folder: Path, commit: Commit, arrays: dict[str, list[np.ndarray]]) -> Commit:
    """Write the arrays and then the commit that names them; return it.

    Commits older than the one before are removed.
    """
    content = io.BytesIO()
    named = {
        f"{kind}_{i}": _plain(x) for kind, parts in arrays.items() for i, x in enumerate(parts)
    }
    np.savez(content, **named)  # type: ignore[arg-type]
    written = content.getvalue()
    state = {"bytes": len(written), "sha256": checksum(written)}
    counts = {kind: len(parts) for kind, parts in arrays.items()}
    commit = replace(commit, state=state, arrays=counts)
    write_whole(_state_path(folder, commit.number), written)
    body = json.dumps(asdict(commit), sort_keys=True)
    sealed = json.dumps({"commit": body, "sha256": checksum(body.encode())})
    write_whole(_commit_path(folder, commit.number), sealed.encode())
    for number in numbers(folder):
        if number <= commit.number - KEPT:
            _commit_path(folder, number).unlink(missing_ok=True)
            _state_path(folder, number).unlink(missing_ok=True)
    return commit


def numbers(folder: Path) -> list[int]:
    """Return the numbers of the commits in a folder, the newest first."""
    found = [path.stem.removeprefix("commit-") for path in folder.glob("commit-*.json")]
    return sorted((int(number) for number in found if number.isdigit()), reverse=True)


def read_commit(folder: Path, number: int) -> tuple[Commit, dict[str, list[np.ndarray]]]:
    """Return a commit and its arrays.

    Raises:
        Damaged: if either is missing or not what was written.
        ValueError: if a later version of this package wrote it.
    """
    path = _commit_path(folder, number)
    try:
        sealed = json.loads(path.read_bytes())
        body = sealed["commit"]
        is_whole = checksum(body.encode()) == sealed["sha256"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Damaged(f"{path.name} cannot be read") from error
    if not is_whole:
        raise Damaged(f"{path.name} does not have its checksum")
    found = json.loads(body)
    if found["format"] != FORMAT:
        raise ValueError(
            f"Expected a folder of format {FORMAT}; got format {found['format']}, of another"
            " version of numpyro_sgmcmc. Use the version that wrote it."
        )
    commit = Commit(**found)
    return commit, _read_arrays(_state_path(folder, number), commit)


def newest(folder: Path) -> tuple[Commit, dict[str, list[np.ndarray]], list[str]] | None:
    """Return the newest commit that is whole, its arrays, and words on those that are not.

    Returns None if there is no commit at all.

    Raises:
        Damaged: if there are commits, but none is whole.
    """
    damages = []
    for number in numbers(folder):
        try:
            return (*read_commit(folder, number), damages)
        except Damaged as damage:
            damages.append(str(damage))
    if damages:
        raise Damaged("; ".join(damages))
    return None


def clear_unfinished(folder: Path) -> None:
    """Remove files that a killed process was writing, and arrays without a commit."""
    for path in folder.rglob(f"*{UNFINISHED}"):
        path.unlink()
    known = set(numbers(folder))
    for path in folder.glob("state-*.npz"):
        number = path.stem.removeprefix("state-")
        if number.isdigit() and int(number) not in known:
            path.unlink()


def _read_arrays(path: Path, commit: Commit) -> dict[str, list[np.ndarray]]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise Damaged(f"{path.name} cannot be read") from error
    if len(content) != commit.state["bytes"] or checksum(content) != commit.state["sha256"]:
        raise Damaged(f"{path.name} does not have its checksum")
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        return {
            kind: [file[f"{kind}_{i}"] for i in range(count)]
            for kind, count in commit.arrays.items()
        }


def _plain(array: np.ndarray) -> np.ndarray:
    """Return an array whose type NumPy's files know; bfloat16 and similar types become bytes."""
    if array.dtype.kind in "biufc":
        return array
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _commit_path(folder: Path, number: int) -> Path:
    return folder / f"commit-{number:08d}.json"


def _state_path(folder: Path, number: int) -> Path:
    return folder / f"state-{number:08d}.npz"
