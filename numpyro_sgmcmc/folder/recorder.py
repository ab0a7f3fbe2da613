"""Draws on their way to a folder."""

from collections.abc import Sequence
from pathlib import Path
from typing import final

import numpy as np

from numpyro_sgmcmc.folder.layout import Variable
from numpyro_sgmcmc.folder.zarr_files import write_chunk


@final
class Recorder:
    """Writes draws to files of a constant length as they fill, and holds the rest.

    A file that is full is never changed. The draws that fill no file are part of every commit.

    Args:
        folder: the folder of the run.
        layout: what is kept of a draw.
        chains: number of chains.
        length: draws of each chain in a file.
        sums: checksums of the full files, by phase.
        rest: the draws that fill no file, by phase, one array for each variable.
    """

    def __init__(
        self,
        folder: Path,
        layout: Sequence[Variable],
        chains: int,
        length: int,
        sums: dict[str, list[list[int]]],
        rest: dict[str, list[np.ndarray]],
    ) -> None:
        self._folder, self.layout, self._length = folder, layout, length
        self.sums = {phase: list(known) for phase, known in sums.items()}
        self._filled, self._open = {}, {}
        for phase, arrays in rest.items():
            self._open[phase] = [
                np.zeros((chains, length, *variable.shape), variable.dtype) for variable in layout
            ]
            self._filled[phase] = arrays[0].shape[1] if arrays else 0
            for array, held in zip(arrays, self._open[phase], strict=False):
                held[:, : array.shape[1]] = array

    def add(self, phase: str, arrays: Sequence[np.ndarray]) -> None:
        """Add draws (chain, draw, ...), one array for each variable."""
        taken, count = 0, arrays[0].shape[1] if arrays else 0
        while taken < count:
            begin = self._filled[phase]
            more = min(self._length - begin, count - taken)
            for array, held in zip(arrays, self._open[phase], strict=True):
                held[:, begin : begin + more] = array[:, taken : taken + more]
            taken, self._filled[phase] = taken + more, begin + more
            if self._filled[phase] == self._length:
                self.sums[phase].append(self._write_open(phase, lasting=True))
                self._filled[phase] = 0

    def rest(self, phase: str) -> list[np.ndarray]:
        """Return copies of the draws that fill no file."""
        return [held[:, : self._filled[phase]].copy() for held in self._open[phase]]

    def write_rest(self) -> None:
        """Write the draws that fill no file, padded with zeros, for other readers."""
        for phase, filled in self._filled.items():
            if filled:
                for held in self._open[phase]:
                    held[:, filled:] = 0
                self._write_open(phase, lasting=False)

    def _write_open(self, phase: str, *, lasting: bool) -> list[int]:
        place, arrays = len(self.sums[phase]), self._open[phase]
        return write_chunk(self._folder, phase, self.layout, place, arrays, lasting=lasting)
