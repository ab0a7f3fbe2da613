"""A mode of the posterior: the anchor of control variates and the centre of the tuning."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.preparation.adam import adam_from_afar
from numpyro_sgmcmc.preparation.axes import principal_axes
from numpyro_sgmcmc.preparation.start_thresholds import (
    ADAM_STEP_SIZE,
    ADAM_STEPS,
    ARRIVED,
    DIAGONAL_PROBES,
    LATER_MEMORY,
    LBFGS_STEPS,
    LONGEST_STEP,
    NEWTON_STEPS,
)
from numpyro_sgmcmc.preparation.target import View
from numpyro_sgmcmc.preparation.thresholds import DENSE_DIMENSION


class Mode(NamedTuple):
    """A point near a mode.

    Attributes:
        position: shape (d,).
        potential_energy: U at the position.
        gradient: grad U at the position, (d,).
        hessian: the Hessian, (d, d), if it is formed; else an estimate of its diagonal, (d,).
        distance: length of Newton's step to the mode in standard deviations, at least 1 where the
            curvature is not positive; infinite if unknown.
    """

    position: jax.Array
    potential_energy: jax.Array
    gradient: jax.Array
    hessian: jax.Array
    distance: jax.Array

    @property
    def is_dense(self) -> bool:
        """Whether the whole Hessian is known."""
        return self.hessian.ndim == 2


def is_dense(position: jax.Array | np.ndarray) -> bool:
    """Return whether the Hessian is formed in this dimension."""
    return 0 < position.size <= DENSE_DIMENSION


def with_diagonal(view: View, position: jax.Array) -> Mode:
    """Return U, its gradient and an estimate of its Hessian's diagonal at a point."""

    def probe(key: jax.Array) -> jax.Array:
        signs = random.signs(key, position.shape, position.dtype)
        return signs * view.hessian_product(position, signs)

    diagonal = jax.lax.map(probe, probe_keys()).mean(0)
    return Mode(position, *view.value_and_grad(position), diagonal, jnp.asarray(jnp.inf))


def probe_keys() -> jax.Array:
    """Return keys of random signs v; the mean of v * (H v) over them is the diagonal of H."""
    return random.split(jax.random.key(0), DIAGONAL_PROBES)


def with_hessian(view: View, position: jax.Array) -> Mode:
    """Return U, its gradient and its Hessian at a point."""
    return mode_at(position, *view.second_order(position))


def mode_at(
    position: jax.Array, energy: jax.Array, gradient: jax.Array, hessian: jax.Array
) -> Mode:
    """Return a point whose derivatives are known, the Hessian too."""
    _, moved = _newton_step(gradient, hessian)
    return Mode(position, energy, gradient, hessian, jnp.linalg.norm(moved))


def adam(view: View, keys: jax.Array, starts: jax.Array) -> jax.Array:
    """Return the last positions of Adam on minibatches, for each key and start, (starts, d)."""
    return jax.vmap(partial(_adam, view))(keys, starts)


def _adam(view: View, key: jax.Array, start: jax.Array) -> jax.Array:
    optimizer = adam_from_afar(ADAM_STEP_SIZE, ADAM_STEPS, {ADAM_STEPS // 2: LATER_MEMORY})

    def body(carry: tuple, key: jax.Array) -> tuple[tuple, None]:
        position, state = carry
        gradient = jax.grad(view.potential)(position, view.draw(key))
        update, state = optimizer.update(gradient, state, position)
        return (optax.apply_updates(position, update), state), None

    carry = (start, optimizer.init(start))
    return jax.lax.scan(body, carry, random.split(key, ADAM_STEPS))[0][0]


def lbfgs(view: View, start: jax.Array) -> jax.Array:
    """Return the last position of L-BFGS with the gradient of the whole data."""
    optimizer = optax.lbfgs()
    value = jax.jit(lambda position: view.value_and_grad(position)[0])
    value_and_grad = optax.value_and_grad_from_state(value)

    def unfinished(carry: tuple) -> jax.Array:
        _, _, count, first, last = carry
        return (count < LBFGS_STEPS) & (last > 1e-6 * first)

    def body(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        position, state, count, first, _ = carry
        energy, gradient = value_and_grad(position, state=state)
        assert isinstance(gradient, jax.Array)  # optax's type is any pytree
        size = jnp.max(jnp.abs(gradient))
        update, state = optimizer.update(
            gradient, state, position, value=energy, grad=gradient, value_fn=value
        )
        moved = jnp.asarray(optax.apply_updates(position, update))
        # If rounding in U hides every descent, the line search does not move. The search then ends.
        stuck = ~jnp.all(jnp.isfinite(moved)) | jnp.all(moved == position)
        position = jnp.where(stuck, position, moved)
        first = jnp.where(count == 0, jnp.maximum(size, 1.0), first)
        return position, state, jnp.where(stuck, LBFGS_STEPS, count + 1), first, size

    one = jnp.ones((), start.dtype)
    carry = (start, optimizer.init(start), jnp.zeros((), jnp.int32), one, 2 * one)
    return jax.lax.while_loop(unfinished, body, carry)[0]


class Search(NamedTuple):
    """Newton's method after some steps.

    Attributes:
        mode: the best point so far.
        candidate: where U and its derivatives are needed next, (d,).
        count: number of steps.
    """

    mode: Mode
    candidate: jax.Array
    count: jax.Array


def newton(view: View, start: jax.Array, most: jax.Array) -> Mode:
    """Return the last point of damped Newton steps on the whole data, started at `start`.

    Args:
        view: of the model and its data.
        start: (d,).
        most: number of points at which U and its derivatives are computed at most, the start among
            them, ().
    """
    step = lambda search: next_search(search, with_hessian(view, search.candidate))  # noqa: E731
    goes_on = lambda search: is_unfinished(search) & (search.count < most)  # noqa: E731
    return jax.lax.while_loop(goes_on, step, first_search(start)).mode


def first_search(start: jax.Array) -> Search:
    """Return Newton's method before its first step."""
    size, dtype = start.size, start.dtype
    far = jnp.asarray(jnp.inf, dtype)
    nowhere = Mode(start, far, jnp.zeros(size, dtype), jnp.eye(size, dtype=dtype), far)
    return Search(nowhere, start, jnp.zeros((), jnp.int32))


def is_unfinished(search: Search) -> jax.Array:
    """Return whether Newton's method goes on."""
    arrived = (search.count > 0) & (search.mode.distance < ARRIVED)
    return ~arrived & (search.count < NEWTON_STEPS)


def next_search(search: Search, tried: Mode) -> Search:
    """Return Newton's method after a step whose candidate is known."""
    mode, candidate, count = search
    # An increase of U smaller than its rounding error does not count as one.
    resolution = 100 * jnp.finfo(candidate.dtype).eps
    slack = resolution * jnp.abs(mode.potential_energy)
    better = tried.potential_energy <= mode.potential_energy + jnp.where(count > 0, slack, 0.0)
    better &= jnp.all(jnp.isfinite(tried.gradient)) & jnp.all(jnp.isfinite(tried.hessian))
    refused = (mode.position + candidate) / 2  # Halves a step that went too far.
    kept = jax.tree.map(lambda a, b: jnp.where(better, a, b), tried, mode)
    step = _newton_step(kept.gradient, kept.hessian)[0] / jnp.maximum(
        1.0, kept.distance / LONGEST_STEP
    )
    return Search(kept, jnp.where(better, kept.position - step, refused), count + 1)


def _newton_step(gradient: jax.Array, hessian: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return a step to be subtracted, and the same in standard deviations along principal axes.

    Along an axis of negative curvature it goes downhill, by one standard deviation at least: no
    mode is at a saddle, although the gradient may vanish there.
    """
    axes = principal_axes(hessian)
    root = axes.root(jnp.abs(axes.curvatures))
    moved = root.T @ gradient
    least = jnp.where(axes.curvatures < -axes.floor, 1.0, 0.0)
    moved = jnp.where(moved < 0, -1.0, 1.0) * jnp.maximum(jnp.abs(moved), least)
    return root @ moved, moved


def conditional_scale(diagonal: jax.Array) -> jax.Array:
    """Return 1 / sqrt(H_ii): the standard deviation of each coordinate given all others.

    It is never larger than the marginal standard deviation. Estimates of H_ii are raised to at
    least a thousandth of their mean.
    """
    floor = 1e-3 * jnp.mean(jnp.abs(diagonal))
    return jax.lax.rsqrt(jnp.maximum(diagonal, floor))
