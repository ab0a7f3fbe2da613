"""A finished run, as far as its bias is concerned."""

from typing import Any, NamedTuple

import jax
import numpy as np

from numpyro_sgmcmc.dynamics import AbstractDynamics
from numpyro_sgmcmc.gradient import AbstractGradient, Anchor
from numpyro_sgmcmc.minibatch import AbstractMinibatch, Epoch
from numpyro_sgmcmc.preparation import WALKERS, Target
from numpyro_sgmcmc.preparation.latents import Walkers
from numpyro_sgmcmc.running import Run
from numpyro_sgmcmc.staleness import Staleness
from numpyro_sgmcmc.state import Tuned
from numpyro_sgmcmc.verdict.draws import unconstrained
from numpyro_sgmcmc.verdict.thresholds import LONGEST_EPOCH


class Walker(NamedTuple):
    """Draws at one step size, and what they count in the run's estimates.

    Attributes:
        coefficient: the weight of these draws' average; all coefficients sum to 1.
        step_size: mean step size, weighted.
        draws: unconstrained, (chains, draws, d).
    """

    coefficient: float
    step_size: float
    draws: np.ndarray


class FinishedRun(NamedTuple):
    """What a run's bias depends on.

    Attributes:
        target: the model bound to its data.
        dynamics: with their friction.
        gradient: the estimator.
        anchor: its anchor, None without.
        tuned: preconditioner and correction.
        temperature: T.
        walkers: the finest first; several for Richardson-Romberg, whose finest is there twice.
        weights: of the draws, (chains, draws).
        is_together: whether chains share their minibatches and so depend on each other.
        minibatch: the minibatch scheme.
        rows: of the longest subsampled plate, 1 without one.
        rows_of_draw: rows of whose gradients a draw is made.
        seconds_of_draw: about what a draw takes, if all chains make as many; None if not known.
        staleness: how old gradients are, and the remedy; None if they are never old.
        latents: the chains' last positions and latents of rows, with a leading axis; None for a
            model without latents of rows.
        suits_predictions: whether the warm-up chose settings for predictions, and not for single
            parameters.
        is_mixed: whether chains mix well enough for more than the least number of gradients to
            change the outcome.
        granted_rows: rows of whose gradients a verdict may be made, where they are more than it may
            take by itself.
    """

    target: Target
    dynamics: AbstractDynamics
    gradient: AbstractGradient
    anchor: Anchor | None
    tuned: Tuned
    temperature: float
    walkers: tuple[Walker, ...]
    weights: np.ndarray
    is_together: bool
    minibatch: AbstractMinibatch
    rows: int
    rows_of_draw: int
    seconds_of_draw: float | None
    staleness: Staleness | None = None
    latents: Walkers | None = None
    suits_predictions: bool = False
    is_mixed: bool = True
    granted_rows: int = 0

    @property
    def dtype(self) -> Any:
        """The type of the model's parameters."""
        return np.result_type(*jax.tree.leaves(self.target.structure.prototype))

    @property
    def step_size(self) -> float:
        """The step size that the user sets: the coarsest walker's."""
        return max(walker.step_size for walker in self.walkers)

    @property
    def levels(self) -> int:
        """The number of step sizes."""
        return len({walker.step_size for walker in self.walkers})

    @property
    def epoch(self) -> Epoch | None:
        """How the noise of minibatches depends on each other, where theory takes it into account.

        The noise of several plates together, and that of an estimator which follows the walker, do
        not cancel within an epoch.
        """
        structure = self.target.structure
        is_known = self.levels == 1 and self.staleness is None and not structure.is_random
        if not is_known or len(structure.plates) != 1 or not self.gradient.has_constant_state:
            return None
        (plate,) = structure.plates.values()
        found = self.minibatch.epoch(plate)
        return found if found is None or len(found.order) <= LONGEST_EPOCH else None

    @property
    def has_finite_draws(self) -> bool:
        """Whether all draws are finite numbers."""
        return all(bool(np.isfinite(walker.draws).all()) for walker in self.walkers)

    @property
    def still(self) -> int:
        """The number of chains that have the same draw again and again."""
        draws = self.walkers[0].draws
        if draws.shape[1] < 2:
            return 0
        # Nearly always the ends differ, so that most draws need not be looked at.
        suspected = draws[np.all(draws[:, 0] == draws[:, -1], axis=1)]
        return sum(bool(np.all(chain == chain[0])) for chain in suspected)

    @property
    def has_known_noise(self) -> bool:
        """Whether theory knows what gradient noise adds to the variances."""
        return self.minibatch.is_independent or self.epoch is not None

    @property
    def has_gradient_noise(self) -> bool:
        """Whether gradients are estimates."""
        structure = self.target.structure
        return bool(structure.plates) or structure.is_random


def finished_run(run: Run) -> FinishedRun:
    """Return what the bias of a run depends on."""
    weights = np.asarray(run.statistics["weight"], np.float64)
    steps = np.asarray(run.statistics["step_size"], np.float64)
    step_size = float(np.average(steps, weights=weights))
    rows = {name: np.asarray(run.draws[name]) for name in run.structure.prototype}
    rows = {name: value.reshape(-1, *value.shape[2:]) for name, value in rows.items()}
    draws = unconstrained(run.target, rows).reshape(*weights.shape, -1)
    minibatch = run.options.scheme(run.tuned)
    longest = max(run.structure.plates.values(), key=lambda plate: plate.size, default=None)
    batch = 1 if longest is None else longest.subsample_size
    return FinishedRun(
        target=run.target,
        dynamics=run.dynamics,
        gradient=run.tuned.gradient,
        anchor=run.anchor,
        tuned=run.tuned,
        temperature=run.options.temperature,
        walkers=_walkers(run, step_size, draws),
        weights=weights,
        is_together=minibatch.is_shared and run.is_vectorised,
        minibatch=minibatch,
        rows=1 if longest is None else longest.size,
        rows_of_draw=_transitions_of_draw(run) * batch,
        seconds_of_draw=_seconds_of_draw(run),
        staleness=run.options.staleness,
        latents=_latents(run),
        suits_predictions=run.adaptation is not None and run.adaptation.is_for_predictions,
    )


def _latents(run: Run) -> Walkers | None:
    if run.structure.local is None:
        return None
    state = run.state if run.is_vectorised else jax.tree.map(lambda leaf: leaf[None], run.state)
    return Walkers(jax.vmap(run.structure.ravel)(state.z), state.gradient)


def _transitions_of_draw(run: Run) -> int:
    """Return the transitions from one draw that is kept to the next."""
    return run.num_steps * run.settings["thinning"]


def _seconds_of_draw(run: Run) -> float | None:
    """Return what a draw takes, from what a transition of the warm-up's 8 walkers took.

    A processor takes time in proportion to the number of chains. An accelerator takes as long for
    few chains as for 8.
    """
    if run.adaptation is None or run.adaptation.seconds_per_transition is None:
        return None
    chains, method = run.settings["num_chains"], run.settings["chain_method"]
    at_once = chains if run.is_vectorised and method != "sequential" else 1
    share = at_once * run.kernel.replicas / WALKERS
    each = (share if jax.default_backend() == "cpu" else max(share, 1.0)) / at_once
    return float(each * run.adaptation.seconds_per_transition * _transitions_of_draw(run))


def _walkers(run: Run, step_size: float, finest: np.ndarray) -> tuple[Walker, ...]:
    """Return the finest walker after all and after half of its steps, then the coarser ones."""
    levels = run.kernel.levels
    if levels == 1:
        return (Walker(1.0, step_size, finest),)
    names = ("z_halfway", "z_middle", "z_coarse") if levels == 3 else ("z_halfway", "z_coarse")
    half, *rest = (_raveled(run.fields[name], finest.shape) for name in names)
    coefficient, *coarser = run.coefficients
    finest_step = step_size / 2 ** (levels - 1)
    return (
        Walker(coefficient / 2, finest_step, finest),
        Walker(coefficient / 2, finest_step, half),
        *(
            Walker(factor, finest_step * 2 ** (k + 1), draws)
            for k, (factor, draws) in enumerate(zip(coarser, rest, strict=True))
        ),
    )


def _raveled(sites: dict[str, Any], shape: tuple[int, ...]) -> np.ndarray:
    """Return unconstrained draws by site, (chains, draws, ...), in the order of flat positions."""
    parts = [np.asarray(sites[name], np.float64) for name in sorted(sites)]
    return np.concatenate([p.reshape(*shape[:2], -1) for p in parts], axis=2)
