"""SGLD and SGRRLD on ratings of films: test errors of running means along compiled runs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.clock import now
from benchmarks.papers.p003_films import Films, bound, predicted
from benchmarks.papers.subsets import Subset
from numpyro_sgmcmc import SGLD, SGMCLMC, SGRRLD, Diagonal, SGHMCSplit

KERNELS = {"SGLD": SGLD, "SGRRLD": SGRRLD}
GIVEN = "ours, h given"
"""`SGHMCSplit` with a step size, a friction and scales."""
TURNING = "ours, microcanonical"
"""`SGMCLMC` likewise: noise cannot make it run away, so that minibatches may be smaller."""
BOTH = {GIVEN: SGHMCSplit, TURNING: SGMCLMC}
FINE_STEPS = {"SGLD": 1, "SGRRLD": 2, GIVEN: 1, TURNING: 1}
"""Minibatches that the finest walker draws in a transition."""
SLOWEST_WALKER = {"SGLD": 1.0, "SGRRLD": 2 / 3, GIVEN: 1.0, TURNING: 1.0}
"""The finest walker's share of the work: walkers run in parallel."""
FRICTION = 1.5
"""What a kernel takes for curvatures near 1."""


class Plan(NamedTuple):
    """Settings of a run of SGLD; SGRRLD takes half as many transitions, as in the paper.

    Attributes:
        step_size: the paper's gamma, our h. SGRRLD's walkers take steps of h and of h / 2. That of
            `BOTH` is in units of their scales.
        batch: distinct rows of a minibatch.
        low: a factor of N near its root, for `Subset`.
        burn_in: transitions before the first prediction is kept.
        transitions: K in all.
        thinning: every so many transitions a prediction is kept.
        records: running means that are scored, at geometric distances.
    """

    step_size: float
    batch: int
    low: int
    burn_in: int = 500
    transitions: int = 10_500
    thinning: int = 5
    records: int = 12

    def of(self, method: str) -> "Plan":
        """Return the plan of a method."""
        if method != "SGRRLD":
            return self
        return self._replace(burn_in=self.burn_in // 2, transitions=self.transitions // 2)

    def kept(self) -> np.ndarray:
        """Return the numbers of kept predictions at which the running mean is scored."""
        most = (self.transitions - self.burn_in) // self.thinning
        return np.unique(np.geomspace(1, most, self.records).round().astype(int))


class Course(NamedTuple):
    """A running mean of predictions along chains.

    Attributes:
        seconds: of processors, of one chain's slowest walker, since the start, (records,).
        gradients: of rows, likewise.
        mean: predictions of the test ratings at the end, (chains, T).
        error: root mean squared test errors, (chains, records).
        warmup: part of all the seconds.
    """

    seconds: np.ndarray
    gradients: np.ndarray
    mean: np.ndarray
    error: np.ndarray
    warmup: float = 0.0


class Clock:
    """Seconds that calls took, as `benchmarks.clock` counts them."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self, function: Callable, *args: Any) -> Any:
        """Return what the function returns, computed."""
        begin = now()
        found = jax.block_until_ready(function(*args))
        self.seconds += now() - begin
        return found


def starts(films: Films, key: jax.Array, chains: int) -> dict[str, jax.Array]:
    """Return draws of the prior at which chains start."""
    keys = dict(zip(("W", "H"), jax.random.split(key), strict=True))
    sizes = dict(zip(("W", "H"), films.shape, strict=True))
    return {name: jax.random.normal(keys[name], (chains, sizes[name], films.rank)) for name in keys}


def joined(courses: Sequence[Course]) -> Course:
    """Return the course of chains that ran one after the other."""
    seconds = np.mean([course.seconds for course in courses], axis=0)
    mean, error = (
        np.concatenate([getattr(c, name) for c in courses]) for name in ("mean", "error")
    )
    return Course(seconds, courses[0].gradients, mean, error)


def together(films: Films, plans: Mapping[str, Plan], chains: int) -> dict[str, Course]:
    """Return the courses of several methods, whose chains alternate, under the same load."""
    samplers = {method: Sampler(films, plan, method) for method, plan in plans.items()}
    found: dict[str, list[Course]] = {method: [] for method in plans}
    for chain in range(chains):
        for number, (method, sampler) in enumerate(samplers.items()):
            found[method].append(sampler(1, len(plans) * chain + number))
    return {method: joined(courses) for method, courses in found.items()}


def kernel_of(films: Films, plan: Plan, method: str) -> Any:
    """Return the kernel of the package."""
    minibatch, of_films = Subset(low=plan.low), bound(films, plan.batch)
    if method in BOTH:
        return BOTH[method](
            of_films,
            plan.step_size,
            friction=FRICTION,
            minibatch=minibatch,
            preconditioner=Diagonal(jnp.asarray(scales(films))),
        )
    return KERNELS[method](of_films, plan.step_size, minibatch=minibatch, increments="normal")


def scales(films: Films) -> np.ndarray:
    """Return (1 + n)^(-1/2) for the entries of a film or user with n ratings, H's before W's.

    An entry's conditional precision is 1 + n times the mean square of the entries that it meets,
    whose prior has the mean square 1.
    """
    counts = [
        np.bincount(place, minlength=size)
        for place, size in zip((films.user, films.film), films.shape[::-1], strict=True)
    ]
    return np.repeat((1 + np.concatenate(counts)) ** -0.5, films.rank).astype(np.float32)


def prediction(method: str, state: Any, test_film: jax.Array, test_user: jax.Array) -> jax.Array:
    """Return a state's estimate of the test ratings' means, (chains, T): equation 6 for SGRRLD."""

    def of(z: dict[str, jax.Array]) -> jax.Array:
        return jax.vmap(predicted, (0, 0, None, None))(z["W"], z["H"], test_film, test_user)

    if method != "SGRRLD":
        return of(state.z)
    return of(state.z) + of(state.z_halfway) - of(state.z_coarse)


class Sampler:
    """A method bound to ratings and compiled.

    Args:
        films: the ratings.
        plan: of SGLD.
        method: "SGLD", "SGRRLD" or one of `BOTH`.
    """

    def __init__(self, films: Films, plan: Plan, method: str) -> None:
        self.films, self.plan, self.method = films, plan.of(method), method
        self._kernel = kernel_of(films, plan, method)
        self._args = tuple(map(jnp.asarray, (films.film, films.user, films.rating)))
        self._test = jnp.asarray(films.test_film), jnp.asarray(films.test_user)
        self._move = jax.jit(self._moved)

    def __call__(self, chains: int, seed: int) -> Course:
        """Run chains from draws of the prior."""
        key_start, key_run = jax.random.split(jax.random.key(seed))
        start = starts(self.films, key_start, chains)
        keys = jax.random.split(key_run, chains)
        state = self._kernel.init(keys, 0, start, self._args, {})
        carry = state, jnp.zeros((chains, len(self.films.test_film)))
        jax.block_until_ready(self._move(carry, self._args, self._test, 0, 0, 0.0))  # compiles
        plan, kept = self.plan, self.plan.kept()
        clock = Clock()
        carry = clock(self._move, carry, self._args, self._test, plan.burn_in, 1, 0.0)
        means, seconds = [], []
        for more in np.diff(kept, prepend=0):
            carry = clock(self._move, carry, self._args, self._test, plan.thinning, int(more), 1.0)
            if bool(carry[0].num_diverging.any()):
                raise FloatingPointError(f"Expected a stable step size; got {plan.step_size:g}.")
            seconds.append(clock.seconds * SLOWEST_WALKER[self.method] / chains)
            means.append(np.asarray(carry[1], np.float64))
        running = np.stack(means, axis=1) / kept[:, None]
        each = FINE_STEPS[self.method] * plan.batch
        gradients = each * (plan.burn_in + plan.thinning * kept)
        return Course(np.array(seconds), gradients, running[:, -1], self.films.error(running))

    def _moved(
        self, carry: tuple, args: tuple, test: tuple, steps: Any, count: Any, weight: Any
    ) -> tuple[Any, jax.Array]:
        """Return state and sum of predictions after `count` times `steps` transitions."""

        def one(_: Any, state: Any) -> Any:
            return self._kernel.sample(state, args, {})

        def several(_: Any, carry: tuple) -> tuple:
            state = jax.lax.fori_loop(0, steps, one, carry[0])
            return state, carry[1] + weight * prediction(self.method, state, *test)

        return jax.lax.fori_loop(0, count, several, carry)
