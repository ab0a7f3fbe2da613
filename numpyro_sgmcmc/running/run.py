"""A finished run as an immutable value, from which verdict and results are computed."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import jax
import numpy as np

from numpyro_sgmcmc.dynamics import AbstractDynamics
from numpyro_sgmcmc.gradient import Anchor
from numpyro_sgmcmc.kernels import NumPyroKernel
from numpyro_sgmcmc.model import Structure
from numpyro_sgmcmc.preparation import Adaptation, Options, Target
from numpyro_sgmcmc.running.outcome import Outcome
from numpyro_sgmcmc.state import Tuned


@final
@dataclass(frozen=True, eq=False)
class Run:
    """A finished run.

    Attributes:
        kernel: the kernel.
        target: the model bound to the run's data.
        state: the last state, with a leading axis if there are several chains.
        draws: constrained and deterministic sites by name, (chain, draw, ...).
        fields: fields of the state that were collected, (chain, draw, ...).
        adaptation: what the warm-up chose; None if there was no warm-up, or if it was in another
            process.
        settings: settings of `MCMC`: numbers of chains, warm-up iterations and draws, thinning.
        wall_time: seconds from the call of the kernel's `init` until the draws were computed; None
            for a run of another process that `sg.run` did not drive.
        outcome: how the run ended; None if `sg.run` did not drive it.
    """

    kernel: NumPyroKernel
    target: Target
    state: Any
    draws: dict[str, Any]
    fields: dict[str, Any]
    adaptation: Adaptation | None
    settings: dict[str, Any]
    wall_time: float | None
    outcome: Outcome | None = None

    @property
    def options(self) -> Options:
        """The user's choices for the kernel."""
        return self.kernel.options

    @property
    def structure(self) -> Structure:
        """The model's structure."""
        return self.target.structure

    @property
    def coefficients(self) -> tuple[float, ...]:
        """Each walker's coefficient in an estimate, the finest first."""
        return self.kernel.coefficients(self.structure)

    @property
    def is_vectorised(self) -> bool:
        """Whether the state has a leading axis of chains."""
        return np.ndim(self.state.i) == 1

    @cached_property
    def tuned(self) -> Tuned:
        """The settings of the first chain, which chains usually share, as arrays of NumPy."""
        return self._first_chain(self.state.tuned)

    @property
    def num_steps(self) -> int:
        """Number of transitions of a draw, as the user or the warm-up chose it."""
        pace, given = self.tuned.pace, self.options.num_steps
        if pace is not None:
            return int(pace.num_steps)
        assert given is not None  # either the options or the warm-up fix it
        return given

    @property
    def num_transitions(self) -> int:
        """Number of transitions of a chain so far, for the walker with the largest step."""
        count, pace = int(np.ravel(self.state.i)[0]), self.tuned.pace
        if pace is None:
            return count * self.num_steps
        first = min(count, int(pace.num_warmup))
        return first * int(pace.warmup_steps) + (count - first) * int(pace.num_steps)

    @property
    def anchor(self) -> Anchor | None:
        """The fixed point of the gradient estimator, or None if it has none."""
        gradient = self.tuned.gradient
        return self._first_chain(self.state.gradient) if gradient.needs_anchor else None

    @property
    def dynamics(self) -> AbstractDynamics:
        """The dynamics, with their friction."""
        return self.options.dynamics.with_friction(self.tuned.friction)

    @cached_property
    def statistics(self) -> dict[str, Any]:
        """Statistics of each draw, (chain, draw), such as step size, weight and diverging."""
        found = {
            name: value
            for name, value in self.fields.items()
            if isinstance(value, jax.Array | np.ndarray) and value.ndim == 2
        }
        shape = found["diverging"].shape
        # A constant step size is not collected at every draw; all draws then have equal weights.
        last = np.asarray(self.state.step_size).reshape(-1, 1)
        found.setdefault("step_size", np.broadcast_to(last, shape))
        found.setdefault("weight", np.broadcast_to(last * self.num_steps, shape))
        return found

    def _first_chain(self, part: Any) -> Any:
        """Return the first chain's entries of a part of the last state, as arrays of NumPy."""
        first = (lambda x: x[0]) if self.is_vectorised else (lambda x: x)
        return jax.tree.map(lambda leaf: first(np.asarray(leaf)), part)
