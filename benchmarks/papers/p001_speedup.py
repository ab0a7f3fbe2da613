"""The runs behind figure 2 of Chen et al. (2016): variance of an estimate, iterations for it."""

from dataclasses import dataclass
from functools import partial
from typing import Any, final

import jax.numpy as jnp
import numpy as np

from benchmarks.papers import logistic
from benchmarks.papers.p001_clock import Clock, asynchronous, synchronous
from benchmarks.papers.p001_law import Recursion, of_averages
from benchmarks.papers.p001_military import TestLoss, military
from benchmarks.papers.simulate import Dial, Runner
from numpyro_sgmcmc import SGHMC, Diagonal, StaleGradient
from numpyro_sgmcmc.staleness.delay import COUNTS

BATCH = 500
MOMENTUM = 0.9
"""1 - D h."""
PULL = 0.02
"""h lambda / D: gradients of age a are negative friction, a PULL as a share of D."""
EVERY = 10
"""Transitions from one draw to the next."""
GROUPS = 20


WAYS = ("none", "friction", "curvature", "synchronous")
"""Asynchronous workers without a remedy and with each of two; means of one gradient of each."""
REMEDIES = ("friction", "curvature")


@final
class Problem:
    """The posterior about its mode, in units of its standard deviations, and the test loss there.

    The preconditioner is the inverse root of the curvature: lambda = 1 in each direction.
    """

    def __init__(self) -> None:
        rows = military()
        self.rows = rows
        self.mode, hessian = logistic.mode(rows.x, rows.y, 12)
        self.curvature = np.diag(hessian)
        scale = 1 / np.sqrt(self.curvature)
        share = 1 / (1 + np.exp(-rows.x @ self.mode))
        gradients = rows.x * (share - rows.y)[:, None]
        self.row_noise = len(rows.x) ** 2 * gradients.var(0) * scale**2
        self.loss = TestLoss(rows)
        self.at_mode, slope, bend = self.loss.expansion(self.mode)
        self.scale, self.slope, self.bend = scale, slope * scale, bend * scale**2
        self.step_size = float(np.sqrt(PULL * (1 - MOMENTUM)))
        self.friction = (1 - MOMENTUM) / self.step_size


@final
@dataclass(frozen=True)
class Curve:
    """What one way's runs gave, and exact moments.

    Attributes:
        steps: transitions, (K,).
        times: simulated times of these transitions, (K,).
        errors: each chain's running estimate less the loss at the mode, (chains, K).
        mean: exact mean of the running estimate, (K,).
        variance: its exact variance, (K,).
    """

    steps: np.ndarray
    times: np.ndarray
    errors: np.ndarray
    mean: np.ndarray
    variance: np.ndarray

    def without(self, group: int | None) -> np.ndarray:
        """Return the measured variance of all chains but a group, (K,)."""
        of_chain = np.arange(len(self.errors)) % GROUPS
        return self.errors[of_chain != group].var(0, ddof=1)

    def reaches(self, variance: np.ndarray, level: float) -> float:
        """Return the transitions after which a variance falls to a level, `EVERY` at least."""
        below = int(np.argmax(variance <= level))
        if below == 0:
            return float(self.steps[0])
        ends = slice(below - 1, below + 1)
        x, y = np.log(self.steps[ends]), np.log(variance[ends])
        return float(np.exp(np.interp(-np.log(level), -y, x)))


def curve(problem: Problem, way: str, workers: int, chains: int, count: int, seed: int) -> Curve:
    """Run chains from the posterior's Gaussian approximation, stationary at the start but for h."""
    waiting = way == "synchronous"
    clock = (synchronous if waiting else asynchronous)(workers, count)
    h = problem.step_size * (workers if waiting else 1)
    batch = BATCH * (workers if waiting else 1)
    make = partial(_kernel, problem, way, clock, batch)
    runner = Runner(make, logistic.arrays(problem.rows.x, problem.rows.y), _few, h)
    rng = np.random.default_rng(seed)
    away = rng.normal(size=(chains, len(problem.mode))) * problem.scale
    run: dict[str, Any] = {"start": problem.mode + away, "burn_in": 0, "length": EVERY}
    paths = runner([h], blocks=count // EVERY, seed=seed, **run).positions[0]
    losses = np.array([problem.loss(path) for path in paths]) - problem.at_mode
    steps = EVERY * np.arange(1, count // EVERY + 1)
    law = _law(problem, way, clock, h, batch).covariances(clock.ages, EVERY)
    moments = of_averages(law, problem.slope, problem.bend)
    running = np.cumsum(losses, axis=1) / np.arange(1, len(steps) + 1)
    return Curve(steps, clock.times[steps - 1], running, *moments)


def _few(state: Any) -> Any:
    return state.z["theta"][:1]


def _kernel(problem: Problem, way: str, clock: Clock, batch: int, dial: Dial) -> Any:
    model, map_ = partial(logistic.model, batch=batch), Diagonal(jnp.asarray(problem.scale))
    kernel = SGHMC(model, dial, friction=problem.friction, preconditioner=map_)
    largest = int(clock.ages.max())
    if largest == 0:
        return kernel
    table = jnp.asarray(clock.ages, jnp.int32)
    remedy: Any = way if way in REMEDIES else None
    given = {} if remedy is None else {"curvature": problem.curvature}

    def age(step: Any) -> Any:
        return table[step % len(table)]

    return StaleGradient(kernel, age, max_staleness=largest, remedy=remedy, **given)


def _law(problem: Problem, way: str, clock: Clock, h: float, batch: int) -> Recursion:
    noise = problem.row_noise / batch
    known = 1.0 if way == "curvature" else 0.0
    # The mean age of a function is that of its first counts, which the table fills by repetition.
    mean_age = float(np.resize(clock.ages, COUNTS).mean())
    damping = mean_age if way == "friction" else 0.0
    return Recursion(np.ones_like(noise), noise, h, problem.friction, known, damping)
