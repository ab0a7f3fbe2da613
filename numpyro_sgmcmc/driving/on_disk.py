"""Draws that go to a folder, with the state, so that a killed run can be resumed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any, final

import jax
import numpy as np

from numpyro_sgmcmc.driving.keeper import AbstractKeeper
from numpyro_sgmcmc.driving.leaves import owned
from numpyro_sgmcmc.driving.plan import Plan, Step
from numpyro_sgmcmc.driving.sampled import History, by_site
from numpyro_sgmcmc.folder import (
    Commit,
    Committed,
    Recorder,
    as_arrays,
    encoded,
    publish,
    write_commit,
)


@final
@dataclass(frozen=True)
class Fixed:
    """What all commits of a process share.

    Attributes:
        folder: the folder.
        every: seconds between two commits.
        plan: the iterations of the run.
        kept: most draws of a chain that are kept in memory to judge the run by.
        prepared: the kernel's preparation, or None.
        attributes: attributes of the results.
        began: when the process began the run, by `perf_counter`.
        before: seconds that earlier processes took.
    """

    folder: Path
    every: float
    plan: Plan
    kept: int
    prepared: Any
    attributes: dict[str, Any]
    began: float
    before: float


@final
class DrawsOnDisk(AbstractKeeper):
    """Writes draws to files, and the state of the chains every so many seconds.

    Args:
        fixed: what all commits share.
        last: the newest commit, or the one before the first.
        recorder: what writes the draws.
        sample_field: the field that holds the draws.
        history: some of the draws so far.
    """

    def __init__(
        self, fixed: Fixed, last: Commit, recorder: Recorder, sample_field: str, history: History
    ) -> None:
        self._fixed, self.last, self._recorder = fixed, last, recorder
        self._sample_field, self._history = sample_field, history
        self._saved = perf_counter()

    def add(self, step: Step, draws: Any) -> None:
        """Write the draws of a step."""
        self._recorder.add(step.phase, jax.tree.leaves(draws))
        if step.phase == "sample":
            self._history.add(by_site(draws[self._sample_field]))

    def sampled(self, count: int, kept: int) -> dict[str, np.ndarray]:
        """Return at most `kept` of the first draws by site, evenly spaced, (chain, draw, entry)."""
        return self._history.draws()

    def is_due(self) -> bool:
        """Return whether the state was last saved `every` seconds ago."""
        return perf_counter() - self._saved >= self._fixed.every

    def save(self, state: Any, iterations: int) -> None:
        """Commit the draws so far with the state that continues them."""
        self.commit(state, iterations, "running", "running")

    def finish(self, state: Any, iterations: int, status: str, sentence: str) -> None:
        """Make the last commit, unless the folder says the same already.

        If it does, a process may have been killed after that commit and before the files for other
        readers were written. They are written again.
        """
        said = self.last.iterations, self.last.status, self.last.sentence
        if said == (iterations, status, sentence):
            self._publish()
        else:
            self.commit(state, iterations, status, sentence)

    def told(self, error: OSError) -> OSError:
        """Return an error of the disk whose message says what the folder holds."""
        return OSError(
            error.errno,
            f"Expected to write to {str(self._fixed.folder)!r}; got: {error.strerror or error}. The"
            f" last commit is intact, with {self.last.draws['sample']:,} draws of each chain. Make"
            " room on the disk and call `run` again with the same arguments: it goes on from"
            " there",
        )

    def commit(self, state: Any, iterations: int, status: str, sentence: str) -> None:
        """Write a commit, and then what other readers need to find its draws."""
        fixed, recorder = self._fixed, self._recorder
        leaves, described = as_arrays(owned(state))
        prepared: list[np.ndarray] = []
        skeleton = encoded(fixed.prepared, prepared)
        draws = {
            str(segment.phase): fixed.plan.draws_after(iterations, segment.phase)
            for segment in fixed.plan.segments
        }
        arrays = {"state": leaves, "prepared": prepared}
        arrays |= {f"rest_{phase}": recorder.rest(phase) for phase in draws}
        attributes = fixed.attributes | {"stopped": status, "stopped_because": sentence}
        commit = replace(
            self.last,
            number=self.last.number + 1,
            iterations=iterations,
            draws=draws,
            sums={phase: list(known) for phase, known in recorder.sums.items()},
            status=status,
            sentence=sentence,
            wall_time=fixed.before + perf_counter() - fixed.began,
            leaves=described,
            prepared=skeleton,
            attributes=attributes,
        )
        self.last = write_commit(fixed.folder, commit, arrays)
        self._publish()
        self._saved = perf_counter()

    def _publish(self) -> None:
        """Write what readers of Zarr need to find the draws of the last commit."""
        recorder, last = self._recorder, self.last
        recorder.write_rest()
        chains = int(last.attributes["num_chains"])
        publish(
            self._fixed.folder, recorder.layout, chains, last.length, last.draws, last.attributes
        )

    def committed(self) -> Committed:
        """Return the draws of the newest commit."""
        rest = {f"rest_{phase}": self._recorder.rest(phase) for phase in self.last.draws}
        return Committed(self._fixed.folder, self.last, rest)


@final
class LoadedDraws(Mapping[str, Any]):
    """The draws of a folder by field, read when they are asked for and then kept.

    Args:
        committed: the draws of a commit.
        phase: "sample" or "warmup".
        shapes: what is kept of one draw, by field.
    """

    def __init__(self, committed: Committed, phase: str, shapes: Mapping[str, Any]) -> None:
        self._committed, self._phase, self._shapes = committed, phase, shapes
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, field: str) -> Any:
        if field not in self._loaded:
            layout = self._committed.layout
            places = [i for i, variable in enumerate(layout) if variable.field == field]
            leaves = [jax.device_put(self._committed.draws(self._phase, i)) for i in places]
            self._loaded[field] = jax.tree.unflatten(
                jax.tree.structure(self._shapes[field]), leaves
            )
        return self._loaded[field]

    def __iter__(self) -> Any:
        return iter(self._shapes)

    def __len__(self) -> int:
        return len(self._shapes)


@final
class FlatDraws(Mapping[str, Any]):
    """The same draws without the axis of chains.

    Args:
        grouped: the draws by field, (chain, draw, ...).
    """

    def __init__(self, grouped: LoadedDraws) -> None:
        self._grouped = grouped

    def __getitem__(self, field: str) -> Any:
        flat = lambda x: x.reshape(x.shape[0] * x.shape[1], *x.shape[2:])  # noqa: E731
        return jax.tree.map(flat, self._grouped[field])

    def __iter__(self) -> Any:
        return iter(self._grouped)

    def __len__(self) -> int:
        return len(self._grouped)
