"""Windows of a warm-up, whose walkers estimate the posterior's mean and covariance."""

from dataclasses import dataclass
from functools import partial
from math import ceil
from time import perf_counter
from typing import Any, NamedTuple, final

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.dynamics import AbstractDynamics
from numpyro_sgmcmc.gradient import AbstractGradient, Anchor
from numpyro_sgmcmc.identity import identity_of
from numpyro_sgmcmc.preconditioner import AbstractLinearMap, Coupled
from numpyro_sgmcmc.preparation.approximation import Approximation
from numpyro_sgmcmc.preparation.target import Target, View
from numpyro_sgmcmc.preparation.thresholds import (
    BURN_IN,
    DENSE_COVARIANCE,
    FAR,
    FEW_COORDINATES,
    FEWEST_SEGMENTS,
    FEWEST_SNAPSHOTS,
    MANY_SEGMENTS,
    MOST_COORDINATES,
    PATH_EACH,
    RECORDED,
    SEGMENTS,
    SNAPSHOTS,
    WALKERS,
)
from numpyro_sgmcmc.state import Tuned
from numpyro_sgmcmc.stepper import Stepper
from numpyro_sgmcmc.transition import Transition, Walker


class Seen(NamedTuple):
    """Statistics of a window, in the coordinates y of an approximation.

    These coordinates are defined by z = centre + sqrt(T) spread y.

    Attributes:
        means: mean of y over the window for each walker, (walkers, d).
        second: mean over walkers and window of y y', (d, d). In high dimension, of y^2, (d,), or if
            the map is coupled, of squares outside of its directions, (d,), and products in them.
        path: positions z at equal distances, (`path_length(d)`, walkers, d).
        last: the last positions z, (walkers, d).
        diverging: share of diverging transitions.
        length: number of transitions after the burn-in, of which moments see every one, or in many
            dimensions every `RECORDED`-th.
        segments: means over segments of equal length of each walker's deviation from the centre of
            the approximation, in standard deviations and `bounded`, (segments, walkers, d).
        variances: variance of these deviations over the segments and walkers, (d,).
        segment_length: number of transitions in a segment, (); 0 if the window is too short.
    """

    means: jax.Array
    second: Any
    path: jax.Array
    last: jax.Array
    diverging: jax.Array
    length: jax.Array
    segments: Any = None
    variances: Any = None
    segment_length: Any = 0

    @property
    def snapshots(self) -> jax.Array:
        """The last positions of `SNAPSHOTS` equal parts of the path, (snapshots, walkers, d)."""
        every = max(1, len(self.path) // SNAPSHOTS)
        return self.path[every - 1 :: every]

    def points(self, count: int) -> jax.Array:
        """Return about so many of the snapshots, (count, d): the last of each equal part."""
        snapshots, walkers, dimension = self.snapshots.shape
        every = max(1, snapshots * walkers // count)
        return self.snapshots[every - 1 :: every].reshape(-1, dimension)


@final
@dataclass(frozen=True, eq=False)
class Window:
    """A window's program, compiled once for all lengths and settings."""

    dynamics: AbstractDynamics
    gradient: AbstractGradient
    temperature: float
    increments: str | None = None

    def run(
        self,
        target: Target,
        key: jax.Array,
        tuned: Tuned,
        anchor: Anchor,
        approximation: Approximation,
        widths: jax.Array,
        start: jax.Array,
        length: int,
    ) -> tuple[Seen, float]:
        """Return statistics of walkers from `start`, (walkers, d), over `length` transitions.

        `widths`, (d,), are known standard deviations, the unit of `Seen.segments`.
        A walker that diverges is moved back to the centre, with its initial momentum. The seconds
        that a transition of all walkers took are returned as well; compilation is not among them.
        """
        whiten = approximation.spread.inverse()
        steps = jnp.asarray(length, jnp.int32)
        inputs = (key, tuned, anchor, approximation.centre, whiten, widths, start, steps)
        target.ready(self._run, *inputs, name=self._name)
        began = perf_counter()
        seen = jax.block_until_ready(target.run(self._run, *inputs, name=self._name))
        return seen, (perf_counter() - began) / length

    def ahead(self, target: Target, *inputs: Any) -> None:
        """Begin to compile for inputs of these shapes, which are the arguments of `_run`."""
        target.ahead(self._run, *inputs, name=self._name)

    @property
    def _name(self) -> Any:
        parts = identity_of((self.dynamics, self.gradient))
        return Window, parts, self.temperature, self.increments

    def _run(
        self,
        view: View,
        key: jax.Array,
        tuned: Tuned,
        anchor: Anchor,
        centre: jax.Array,
        whiten: AbstractLinearMap,
        widths: jax.Array,
        start: jax.Array,
        length: jax.Array,
    ) -> Seen:
        walkers, dimension = start.shape
        # One split for all keys, because random numbers take long to compile.
        keys_aux, keys_scheme, keys_steps = random.split(key, (3, walkers))
        dynamics = self.dynamics.with_friction(tuned.friction)
        scheme = view.scheme if tuned.scheme is None else tuned.scheme
        stepper = Stepper(
            potential=view.potential,
            transition=Transition(dynamics, self.gradient, tuned.preconditioner, tuned.correction),
            scheme=scheme,
            plates=view.plates,
            is_random=view.structure.is_random,
            temperature=self.temperature,
            step_size=lambda count: tuned.step_size,
            increments=self.increments,
        )
        fresh = partial(dynamics.init, position=centre, temperature=self.temperature)
        first_aux = jax.vmap(fresh)(keys_aux)
        h = jnp.asarray(tuned.step_size, start.dtype)
        state = self.gradient.init(view, centre, anchor)

        def step(
            position: jax.Array, aux: Any, scheme: Any, key: jax.Array, first: Any, count: jax.Array
        ) -> tuple[jax.Array, Any, Any, jax.Array, jax.Array]:
            key, key_noise, key_batch = random.split(key, 3)
            walker = Walker(position, aux, state, tuned.preconditioner.init(position, 1.0))
            minibatch, scheme = stepper.minibatch(key_batch, count, scheme)
            increment = stepper.increment(key_noise, position, h)
            moved = stepper.step(walker, minibatch, increment, h)
            back = moved.diverging
            position = jnp.where(back, centre, moved.walker.position)
            aux = jax.tree.map(lambda a, b: jnp.where(back, a, b), first, moved.walker.aux)
            return position, aux, scheme, key, back

        step = jax.vmap(step, in_axes=(0, 0, 0, 0, 0, None))
        every = RECORDED if dimension > FEW_COORDINATES else 1
        records = length // every
        burnt = records // BURN_IN
        is_small = dimension <= MANY_SEGMENTS
        several = SEGMENTS if is_small else FEWEST_SEGMENTS
        places = path_length(dimension)
        each = (records - burnt) // several
        root = self.temperature**0.5

        def advanced(count: jax.Array, moving: tuple[Any, ...]) -> tuple[Any, ...]:
            position, aux, scheme, keys, bad = moving
            *moved, back = step(position, aux, scheme, keys, first_aux, count)
            return *moved, bad + back

        def body(count: jax.Array, carry: tuple[Any, ...]) -> tuple[Any, ...]:
            moving, means, second, path, segments, squares = carry
            first = count * every
            if every == 1:
                moving = advanced(first, moving)
            else:
                moving = jax.lax.fori_loop(first, first + every, advanced, moving)
            position = moving[0]
            y = jax.vmap(whiten.apply)(position - centre) / root
            counts = (count >= burnt).astype(y.dtype)
            means = means + counts * y
            place = (count - burnt) * places // (records - burnt)
            path = path.at[jnp.clip(place, 0, places - 1)].set(position)
            square = _second_moments(whiten, y)
            second = jax.tree.map(lambda total, one: total + counts * one, second, square)
            segment = (count - burnt) // jnp.maximum(each, 1)
            within = ((count >= burnt) & (segment < several)).astype(y.dtype)
            away = within * bounded((position - centre) / widths)
            segments = segments.at[jnp.clip(segment, 0, several - 1)].add(away)
            squares = squares + jnp.sum(away**2, axis=0)
            return moving, means, second, path, segments, squares

        moments = jax.eval_shape(partial(_second_moments, whiten), start)
        carry = (
            (
                start,
                first_aux,
                jax.vmap(partial(scheme.init, plates=view.plates))(keys_scheme),
                keys_steps,
                jnp.zeros(walkers, jnp.int32),
            ),
            jnp.zeros_like(start),
            jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), moments),
            jnp.zeros((places, *start.shape), start.dtype),
            jnp.zeros((several, *start.shape), start.dtype),
            jnp.zeros(dimension, start.dtype),
        )
        moving, means, second, path, segments, squares = jax.lax.fori_loop(0, records, body, carry)
        last, *_, bad = moving
        counted = (records - burnt).astype(start.dtype)
        segments = segments / jnp.maximum(each, 1)
        mean_square = squares / (jnp.maximum(each, 1) * several * walkers)
        return Seen(
            means / counted,
            jax.tree.map(lambda total: total / (counted * walkers), second),
            _without_gaps(path, records - burnt),
            last,
            jnp.mean(bad / (records * every)),
            (records - burnt) * every,
            segments,
            mean_square - jnp.mean(segments, axis=(0, 1)) ** 2,
            each * every,
        )


def path_length(dimension: int) -> int:
    """Return how many positions of each walker a window records, a multiple of its snapshots.

    Where it estimates a whole covariance they are `PATH_EACH` positions for each dimension.
    """
    if dimension > DENSE_COVARIANCE:
        return SNAPSHOTS if dimension <= MOST_COORDINATES else FEWEST_SNAPSHOTS
    return SNAPSHOTS * ceil(PATH_EACH * dimension / WALKERS / SNAPSHOTS)


def bounded(y: jax.Array) -> jax.Array:
    """Return y / sqrt(1 + y^2 / `FAR`^2), which is nearly y up to `FAR` and never exceeds it.

    A walker that is far out in an exponential tail, as the logarithm of a scale near 0, returns
    late. One such walker in a window multiplied autocorrelation times by up to 5.
    """
    return y * jax.lax.rsqrt(1 + (y / FAR) ** 2)


def _second_moments(whiten: AbstractLinearMap, y: jax.Array) -> Any:
    """Return the sums over walkers that `Seen.second` is made of; y is (walkers, d)."""
    if isinstance(whiten, Coupled):
        inside = jax.vmap(whiten.subspace.coordinates)(y)
        outside = y - jax.vmap(whiten.subspace.vector)(inside)
        return jnp.sum(outside**2, axis=0), inside.T @ inside
    return y.T @ y if y.shape[1] <= DENSE_COVARIANCE else jnp.sum(y**2, axis=0)


def _without_gaps(path: jax.Array, records: jax.Array) -> jax.Array:
    """Return a path in which places that a short window has not reached repeat the ones before.

    Of n records the one with number k was written to the place k s // n of s. If n is s or more,
    every place has been written to last by the record (i + 1) n / s - 1, rounded up.
    """
    count, records = len(path), jnp.maximum(records, 1)
    last = -(-(jnp.arange(count) + 1) * records // count) - 1
    return path[last * count // records]
