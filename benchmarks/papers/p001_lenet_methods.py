"""The methods that are compared on LeNet: candidates, trainings, networks that are averaged."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from benchmarks.papers import p001_lenet as lenet
from benchmarks.papers.p001_lenet_runs import (
    CYCLES,
    Setting,
    Trainer,
    descent,
    pace,
    sampler,
    trained,
    variational,
)
from benchmarks.papers.p001_lenet_scores import log_score

MEMBERS, DRAWS = 5, 12
"""Networks of the ensemble, and draws of the variational approximation."""
ENSEMBLE, POINT, GUIDE, COLD = "ensemble", "MAP", "SVI", "SGHMC-S, cold"
SAMPLERS = ("SGHMC-S", "SGHMC", "SGLD", "cyclical", COLD)
CANDIDATES = {
    "SGHMC-S": [Setting(rate) for rate in (0.003, 0.01, 0.03)],
    "SGHMC": [Setting(rate) for rate in (0.003, 0.01, 0.03)],
    "SGLD": [Setting(rate) for rate in (0.03, 0.1, 0.3)],
    "cyclical": [Setting(rate) for rate in (0.01, 0.03, 0.1)],
    COLD: [Setting(0.01, 0.1), Setting(0.03, 0.1), Setting(0.03, 0.01), Setting(0.03, 0.001)],
    POINT: [*(Setting(rate) for rate in (0.01, 0.03, 0.1)), Setting(0.03, decay="caffe")],
    GUIDE: [Setting(rate) for rate in (0.001, 0.003, 0.01)],
}
FINALISTS = 2
"""Candidates that train for the whole time."""
METHODS = (*SAMPLERS, POINT, ENSEMBLE, GUIDE)


class Plan(NamedTuple):
    """Seconds of a training, and distances of time at which its networks are kept.

    Attributes:
        seconds: of a processor, for each method.
        share: of them for a run that tries a setting. An ensemble's member has this share, too.
        records: states of a chain that are kept, a multiple of 2 `CYCLES`.
    """

    seconds: float
    share: float = 1 / MEMBERS
    records: int = 16


class Tried(NamedTuple):
    """A short run: its setting, its log score of validation images, its seconds."""

    setting: Setting
    score: float
    seconds: float


class Trained(NamedTuple):
    """What a method's training gave.

    Attributes:
        seconds: at each record, (records,).
        weights: of all networks that were kept, (m, d).
        groups: those of them whose chances are averaged at each record.
        steps: in all.
    """

    seconds: np.ndarray
    weights: np.ndarray
    groups: list[np.ndarray]
    steps: int


def maker(
    method: str, setting: Setting, data: lenet.Labelled, seed: int = 0
) -> Callable[[int], Trainer]:
    """Return the trainer of a method by its number of steps."""
    if method == GUIDE:
        return partial(_with_total, variational, setting, data, seed=seed, draws=DRAWS)
    if method in (POINT, ENSEMBLE):
        return partial(_with_total, descent, setting, data, seed=seed)
    name = "SGHMC-S" if method == COLD else method
    return partial(_with_total, partial(sampler, name), setting, data, seed=seed)


def _with_total(make: Callable, setting: Setting, data: lenet.Labelled, total: int, **more: int):
    return make(setting, data, total, **more)


def kept(method: str, record: int, records: int) -> np.ndarray:
    """Return which of a chain's draws are averaged after so many of them.

    Of a chain with a constant step size it is the later half. Of one with cycles it is the later
    half of each cycle, and the first cycle counts only while it is the only one.
    """
    index = np.arange(record)
    if method != "cyclical":
        return index[record // 2 :]
    length = records // CYCLES
    late = index[index % length >= length // 2]
    return late[late >= length] if record > length + length // 2 else late


def choose(method: str, sets: lenet.Sets, plan: Plan) -> list[Tried]:
    """Return short runs with each candidate, judged by validation images."""
    cost, found = None, []
    for setting in CANDIDATES[method]:
        make = maker(method, setting, sets.training)
        cost = cost or pace(make)
        course = trained(make, int(plan.share * plan.seconds / cost), _records(method, plan))
        networks = course.weights[_groups(method, len(course.weights))[-1]]
        score = judged(networks.reshape(-1, lenet.SIZE)[::2], sets.validation)
        found.append(Tried(setting, score, float(course.seconds[-1])))
        print(f"  {method} {setting}: {score:.4f}", flush=True)
    return found


def judged(weights: np.ndarray, data: lenet.Labelled) -> float:
    """Return the log score of the networks' average; that of a network that diverged is -inf."""
    chances = np.asarray(lenet.chances(jnp.asarray(weights), data.x)).mean(0)
    score = log_score(chances, np.asarray(data.y))
    return score if np.isfinite(score) else -np.inf


def best(tried: list[Tried]) -> Setting:
    """Return the setting with the best log score."""
    return max(tried, key=_score).setting


def _score(one: Tried) -> float:
    return one.score


def final(
    method: str, tried: list[Tried], sets: lenet.Sets, plan: Plan
) -> tuple[list[Tried], "Trained"]:
    """Train the best candidates for the whole time, and return all scores and the best training.

    Validation images judge again, because the best rate of a long training can be another one than
    that of a short one. An ensemble has one candidate: the short run was a member's whole training.
    """
    count = 1 if method == ENSEMBLE else FINALISTS
    asked = [one.setting for one in sorted(tried, key=_score, reverse=True)[:count]]
    runs = [train(method, setting, sets, plan) for setting in asked]
    scores = [judged(run.weights[run.groups[-1]], sets.validation) for run in runs]
    found = [
        Tried(setting, score, float(run.seconds[-1]))
        for setting, score, run in zip(asked, scores, runs, strict=True)
    ]
    print(f"  {method}, whole time: {found}", flush=True)
    return found, runs[int(np.argmax(scores))]


def train(
    method: str, setting: Setting, sets: lenet.Sets, plan: Plan, known: float | None = None
) -> Trained:
    """Return a method's training for the plan's seconds.

    `known` is the cost of a step in seconds, None to measure it.
    """
    steps = int(plan.seconds / (known or pace(maker(method, setting, sets.training))))
    if method == ENSEMBLE:
        members = [
            trained(maker(method, setting, sets.training, seed), steps // MEMBERS, 1, known)
            for seed in range(1, MEMBERS + 1)
        ]
        return Trained(
            np.cumsum([member.seconds[-1] for member in members]),
            np.concatenate([member.weights[-1] for member in members]),
            [np.arange(count + 1) for count in range(MEMBERS)],
            sum(member.steps for member in members),
        )
    make = maker(method, setting, sets.training, 1)
    course = trained(make, steps, _records(method, plan), known)
    records, networks, _ = course.weights.shape
    groups = _groups(method, records)
    numbers = np.arange(records * networks).reshape(records, networks)
    return Trained(
        course.seconds[-len(groups) :],
        course.weights.reshape(records * networks, -1),
        [numbers[group].ravel() for group in groups],
        course.steps,
    )


def _records(method: str, plan: Plan) -> int:
    return {GUIDE: 3, POINT: 8, ENSEMBLE: 1}.get(method, plan.records)


def _groups(method: str, records: int) -> list[np.ndarray]:
    """Return the records that are averaged after each record, from the first with any."""
    if method not in SAMPLERS:
        return [np.array([record]) for record in range(records)]
    groups = [kept(method, count, records) for count in range(1, records + 1)]
    return [group for group in groups if len(group)]


class Predicted(NamedTuple):
    """Chances of the classes along a training.

    Attributes:
        seconds: at each record, (records,).
        test: averages over networks at each record, (records, n, 10).
        odd: at the last record, for other images by name, (n, 10).
        networks: that are averaged at the last record.
        steps: in all.
    """

    seconds: np.ndarray
    test: np.ndarray
    odd: dict[str, np.ndarray]
    networks: int
    steps: int


def predicted(sets: lenet.Sets, run: Trained) -> Predicted:
    """Return what a training predicts."""
    last = jnp.asarray(run.weights[run.groups[-1]])
    each = np.asarray(lenet.chances(jnp.asarray(run.weights), sets.test.x))
    return Predicted(
        run.seconds,
        np.stack([each[group].mean(0) for group in run.groups]),
        {name: np.asarray(lenet.chances(last, x)).mean(0) for name, x in sets.odd.items()},
        len(last),
        run.steps,
    )
