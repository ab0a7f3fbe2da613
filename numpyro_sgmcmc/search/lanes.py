"""The arms with one minibatch size, run in parallel by one compiled program."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any, final

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from numpyro_sgmcmc.kernels import AbstractKernel
from numpyro_sgmcmc.kernels.stepping import stepper_of
from numpyro_sgmcmc.model import split_arguments
from numpyro_sgmcmc.preparation import Target, View
from numpyro_sgmcmc.search.score import Score, score_of
from numpyro_sgmcmc.stein import stein_gram

GRADIENTS_AT_ONCE = 16

TINY = 1e-30
"""A step size so small that it does not limit the friction. Kernels are prepared with it; the
step sizes of the arms are set afterwards."""


@final
class Lanes:
    """The walkers of several arms, one for each step size, with a common start.

    The program is compiled once for each number of lanes. Step sizes and lengths are its inputs.

    Args:
        kernel: the kernel to tune.
        sizes: number of rows in a minibatch by plate name.
        rows: number of rows in one gradient.
        key: key of the start and of the walkers.
        init_params: unconstrained values by site name for the start, or None.
        args: positional arguments of the model.
        kwargs: keyword arguments of the model.
    """

    def __init__(
        self,
        kernel: AbstractKernel,
        sizes: dict[str, int],
        rows: int,
        key: jax.Array,
        init_params: dict[str, Any] | None,
        args: tuple,
        kwargs: dict,
    ) -> None:
        self.kernel = kernel.with_numbers(TINY, sizes)
        self.start = self.kernel.init(key, 0, init_params, args, kwargs)
        self.position = ravel_pytree(self.start.z)[0]
        self.num_steps = self.kernel.options.num_steps or 1
        self.rows = rows * self.num_steps
        self.draws = jnp.zeros((0, 0, 0))
        self._arguments = args, kwargs
        self._target = Target(self.kernel.structure, kernel.options.minibatch, args, kwargs)
        self._compiled: dict[Any, Callable] = {}
        self.walkers = self.start

    def run(self, fn: Callable, *inputs: Any) -> Any:
        """Return `fn(view, *inputs)`; `fn` is compiled when it is first used."""
        return self._target.run(fn, *inputs)

    def open(self, step_sizes: list[float]) -> None:
        """Put a walker at the start for each step size."""
        count = len(step_sizes)
        start = self.start._replace(rng_key=None)
        copies = jax.tree.map(lambda x: jnp.broadcast_to(x, (count, *jnp.shape(x))), start)
        h = jnp.asarray(step_sizes, self.position.dtype)
        friction = copies.tuned.friction
        if friction is not None:
            friction = jnp.minimum(friction, 1 / h)  # as for a kernel with this step size
        tuned = copies.tuned._replace(step_size=h, friction=friction)
        keys = jax.random.split(self.start.rng_key, count)
        self.walkers = copies._replace(rng_key=keys, tuned=tuned)

    def keep(self, places: list[int]) -> None:
        """Continue with the lanes at these places only."""
        self.walkers = jax.tree.map(lambda x: x[jnp.asarray(places)], self.walkers)

    def friction(self, place: int) -> float | None:
        """Return the friction of a lane; None if the user gave it or there is none."""
        friction = self.walkers.tuned.friction
        return None if friction is None else float(friction[place])

    def advance(self, count: int, skip: int, thin: int) -> float:
        """Run all lanes, keep `count` draws of each, and return the seconds that this took.

        Args:
            count: number of draws to keep.
            skip: number of iterations before the first draw.
            thin: number of iterations for each draw.
        """
        arrays, rebuild = split_arguments(*self._arguments)
        key = (len(self.walkers.i), count)
        if key not in self._compiled:
            program = jax.jit(partial(self._advance, rebuild, count))
            self._compiled[key] = program.lower(arrays, self.walkers, skip, thin).compile()
        begin = time.perf_counter()
        result = self._compiled[key](arrays, self.walkers, skip, thin)
        self.walkers, self.draws = jax.block_until_ready(result)
        return time.perf_counter() - begin

    def _advance(
        self, rebuild: Callable, count: int, arrays: list[Any], walkers: Any, skip: Any, thin: Any
    ) -> tuple[Any, jax.Array]:
        args, kwargs = rebuild(arrays)
        step = lambda _, walkers: self.kernel.sample(walkers, args, kwargs)  # noqa: E731

        def collect(walkers: Any, _: None) -> tuple[Any, jax.Array]:
            walkers = jax.lax.fori_loop(0, thin, step, walkers)
            return walkers, jax.vmap(lambda z: ravel_pytree(z)[0])(walkers.z)

        walkers = jax.lax.fori_loop(0, skip, step, walkers)
        walkers, draws = jax.lax.scan(collect, walkers, None, length=count)
        return walkers, jnp.swapaxes(draws, 0, 1)

    def scores(self, key: jax.Array, scales: np.ndarray, repeats: int) -> list[Score]:
        """Return each lane's discrepancy from exp(-U / T), by the V-statistic.

        Args:
            key: key of the minibatches, which are independent of those of the walkers.
            scales: scale of each coordinate, (d,).
            repeats: number of minibatches in each of two gradient estimates at a draw.
        """
        lanes = self.draws, self.walkers.gradient, self.walkers.tuned
        # One lane at a time, so that one program serves any number of lanes.
        scores = []
        for place, lane_key in enumerate(jax.random.split(key, len(self.draws))):
            lane = jax.tree.map(lambda x, place=place: x[place], lanes)
            scores.append(self.run(self._score, *lane, lane_key, scales, repeats))
        return jax.device_get(scores)

    def _score(
        self,
        view: View,
        draws: jax.Array,
        gradient_state: Any,
        tuned: Any,
        key: jax.Array,
        scales: jax.Array,
        repeats: jax.Array,
    ) -> Score:
        stepper = stepper_of(self.kernel.options, view.structure, view.args, view.kwargs, tuned)
        estimator = stepper.transition.gradient

        def gradient(inputs: tuple[jax.Array, jax.Array]) -> jax.Array:
            position, key = inputs

            def add(number: jax.Array, total: jax.Array) -> jax.Array:
                minibatch = view.draw(jax.random.fold_in(key, number))
                estimate, _ = estimator.estimate(
                    stepper.potential, position, minibatch, gradient_state
                )
                return total + estimate.gradient

            return jax.lax.fori_loop(0, repeats, add, jnp.zeros_like(position)) / repeats

        # Two independent estimates, so that their noise does not add to the diagonal.
        keys = jax.random.split(key, (2, len(draws)))
        twice = [jax.lax.map(gradient, (draws, k), batch_size=GRADIENTS_AT_ONCE) for k in keys]
        whitened = [gradients * scales / stepper.temperature for gradients in twice]
        return score_of(stein_gram(draws / scales, *whitened))
