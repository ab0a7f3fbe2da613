"""Draws of a folder, each file compared with its checksum."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, final

import numpy as np

from numpyro_sgmcmc.folder.commits import Commit, Damaged, newest
from numpyro_sgmcmc.folder.layout import Variable
from numpyro_sgmcmc.folder.zarr_files import NAME, is_there, read_chunk

TRIES = 5
"""How often a commit is read again that a running process replaced meanwhile."""


@final
class Committed:
    """The draws of a commit.

    Args:
        folder: the folder of the run.
        commit: the commit.
        arrays: the arrays of the commit.
    """

    def __init__(self, folder: Path, commit: Commit, arrays: dict[str, list[np.ndarray]]) -> None:
        self.folder, self.commit = folder, commit
        self.layout = variables_of(commit)
        self._rest = {phase: arrays[f"rest_{phase}"] for phase in commit.draws}

    @property
    def chains(self) -> int:
        """Number of chains."""
        return int(self.commit.attributes["num_chains"])

    def draws(self, phase: str, place: int) -> np.ndarray:
        """Return the draws of the variable with this place in the layout, (chain, draw, ...).

        Raises:
            Damaged: if a file of draws is damaged; the message names it and its draws.
        """
        variable, length = self.layout[place], self.commit.length
        found = np.empty(
            (self.chains, self.commit.draws[phase], *variable.shape), np.dtype(variable.dtype)
        )
        at = 0
        for part in self._parts(phase, place):
            found[:, at : at + part.shape[1]] = part
            at += part.shape[1]
        assert at == len(self.commit.sums[phase]) * length + self._rest[phase][place].shape[1]
        return found

    def parts(self, phase: str, places: list[int]) -> Iterator[tuple[np.ndarray, ...]]:
        """Yield the draws of several variables file by file, in their order.

        Raises:
            Damaged: if a file of draws is damaged; the message names it and its draws.
        """
        return zip(*(self._parts(phase, place) for place in places), strict=True)

    def check_files(self) -> None:
        """Check that all full files of draws are there, in full length.

        Raises:
            Damaged: if one is not.
        """
        for phase, sums in self.commit.sums.items():
            for place in range(len(sums)):
                for variable in self.layout:
                    size = self.chains * self.commit.length * variable.draw_bytes
                    if not is_there(self.folder, phase, variable, place, size):
                        raise self._damaged(phase, variable, place, "is missing or torn")

    def _parts(self, phase: str, place: int) -> Iterator[np.ndarray]:
        variable = self.layout[place]
        shape = self.chains, self.commit.length, *variable.shape
        for number, sums in enumerate(self.commit.sums[phase]):
            try:
                yield read_chunk(self.folder, phase, variable, number, shape, sums[place])
            except Damaged as damage:
                raise self._damaged(phase, variable, number, str(damage)) from damage
        yield self._rest[phase][place]

    def _damaged(self, phase: str, variable: Variable, number: int, what: str) -> Damaged:
        begin = number * self.commit.length
        end = begin + self.commit.length - 1
        kind = "warm-up draws" if phase == "warmup" else "draws"
        return Damaged(
            f"Expected the {kind} {begin:,} to {end:,} of {variable.name!r} in"
            f" {str(self.folder)!r} as they were written; {what}. Restore the file from a backup,"
            " or remove the folder and run again: the same key makes the same draws."
        )


def committed(folder: Path) -> tuple[Committed, dict[str, list[np.ndarray]], list[str]]:
    """Return the newest whole commit of a folder, its arrays, and words on damaged commits.

    A process may write to the folder meanwhile.

    Raises:
        ValueError: if the folder holds no commit.
        Damaged: if no commit is whole.
    """
    for last in reversed(range(TRIES)):
        try:
            found = newest(folder)
        except Damaged as damage:
            if last:
                continue
            raise Damaged(
                f"Expected a whole commit in {str(folder)!r}; got none: {damage}. Restore the"
                " files from a backup, or remove the folder and run again: the same key makes the"
                " same draws."
            ) from damage
        if found is None:
            raise ValueError(
                f"Expected a folder of `sg.run` with a commit; {str(folder)!r} has none. The first"
                " commit is made when sampling begins, after the preparation."
            )
        commit, arrays, damages = found
        return Committed(folder, commit, arrays), arrays, damages
    raise AssertionError


def variables_of(commit: Commit) -> list[Variable]:
    """Return what a folder keeps of a draw."""
    found = []
    for words in commit.layout:
        variable = Variable(**words)
        shape, dims = tuple(variable.shape), tuple(variable.dims)
        found.append(variable._replace(shape=shape, dims=dims))
    return found


def is_foreign(folder: Path) -> list[str]:
    """Return names in a folder that `sg.run` does not write."""
    if not folder.is_dir():
        return []
    ours = ("commit-", "state-", "lock", NAME)
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith(ours))


def groups(found: Committed, phase: str) -> dict[str, list[tuple[int, Any]]]:
    """Return the variables of a phase by group, with their places in the layout."""
    result: dict[str, list[tuple[int, Any]]] = {}
    for place, variable in enumerate(found.layout):
        result.setdefault(variable.group, []).append((place, variable))
    return result
