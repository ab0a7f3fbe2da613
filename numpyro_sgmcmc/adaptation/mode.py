"""A mode of the posterior: the anchor of fixed-point gradients and the centre of the tuning."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

from numpyro_sgmcmc.adaptation.target import Target, View

ADAM_STEPS = 2_000
ADAM_STEP_SIZE = 0.05
LBFGS_STEPS = 200
NEWTON_STEPS = 10
DENSE_DIMENSION = 300
"""Up to this dimension the Hessian is formed, and Newton's steps polish the mode."""


class Mode(NamedTuple):
    """A point near a mode: position, U and grad U there, and the Hessian where it is formed."""

    position: jax.Array
    potential_energy: jax.Array
    gradient: jax.Array
    hessian: jax.Array | None


def find_mode(target: Target, key: jax.Array, start: jax.Array) -> Mode:
    """Search a mode of U from `start`: Adam on minibatches, L-BFGS, then Newton's steps.

    Adam comes near from a rough start, but stalls where scales differ by orders of magnitude;
    L-BFGS on the exact gradient finishes. In single precision its line search cannot resolve U
    below about 1e-7 |U|, which may be several standard deviations: Newton's steps need gradients
    only and remove the rest where the dimension allows.
    """
    position = target.run(_adam, key, start)
    position = target.run(_lbfgs, position)
    return describe(target, position, polish=True)


def describe(target: Target, position: jax.Array, *, polish: bool = False) -> Mode:
    """Return U, its gradient and, where it is formed, its Hessian at (or, polished, near) a point."""
    if not 0 < position.size <= DENSE_DIMENSION:
        return Mode(position, *target.run(_value_and_grad, position), None)
    return target.run(_newton if polish else _second_order, position)


def _value_and_grad(view: View, position: jax.Array) -> tuple[jax.Array, jax.Array]:
    return view.value_and_grad(position)


def _second_order(view: View, position: jax.Array) -> Mode:
    return Mode(position, *view.value_and_grad(position), view.hessian(position))


def _adam(view: View, key: jax.Array, start: jax.Array) -> jax.Array:
    decay = optax.cosine_decay_schedule(ADAM_STEP_SIZE, ADAM_STEPS)
    optimizer = optax.apply_if_finite(optax.adam(decay), max_consecutive_errors=ADAM_STEPS)

    def body(carry: tuple, key: jax.Array) -> tuple[tuple, None]:
        position, state = carry
        gradient = jax.grad(view.potential)(position, view.draw(key))
        update, state = optimizer.update(gradient, state, position)
        return (optax.apply_updates(position, update), state), None

    carry = (start, optimizer.init(start))
    return jax.lax.scan(body, carry, jax.random.split(key, ADAM_STEPS))[0][0]


def _lbfgs(view: View, start: jax.Array) -> jax.Array:
    optimizer = optax.lbfgs()
    value = lambda position: view.value_and_grad(position)[0]  # noqa: E731
    size = jnp.maximum(jnp.max(jnp.abs(view.value_and_grad(start)[1])), 1.0)

    def unfinished(carry: tuple) -> jax.Array:
        _, state, _, gradient, count = carry
        finite = jnp.all(jnp.isfinite(gradient))
        return finite & (count < LBFGS_STEPS) & (jnp.max(jnp.abs(gradient)) > 1e-6 * size)

    def body(carry: tuple) -> tuple:
        position, state, energy, gradient, count = carry
        update, state = optimizer.update(
            gradient, state, position, value=energy, grad=gradient, value_fn=value
        )
        moved = optax.apply_updates(position, update)
        new_energy, new_gradient = view.value_and_grad(moved)
        # Where rounding in U hides any descent, the line search returns the same point: stop there.
        better = new_energy < energy
        position = jnp.where(better, moved, position)
        count = jnp.where(better, count + 1, LBFGS_STEPS)
        return position, state, new_energy, new_gradient, count

    energy, gradient = view.value_and_grad(start)
    carry = (start, optimizer.init(start), energy, gradient, jnp.zeros((), jnp.int32))
    return jax.lax.while_loop(unfinished, body, carry)[0]


def _newton(view: View, start: jax.Array) -> Mode:
    def whitened_norm(mode: Mode) -> jax.Array:
        return jnp.sqrt(jnp.abs(mode.gradient @ _newton_step(mode)))

    def unfinished(carry: tuple[Mode, jax.Array, jax.Array]) -> jax.Array:
        mode, count, improving = carry
        return improving & (count < NEWTON_STEPS) & (whitened_norm(mode) > 1e-2)

    def body(carry: tuple[Mode, jax.Array, jax.Array]) -> tuple[Mode, jax.Array, jax.Array]:
        mode, count, _ = carry
        step = _newton_step(mode)
        length = whitened_norm(mode)
        moved = _second_order(view, mode.position - step / jnp.maximum(1.0, length / 10))
        # An ascent below the resolution of U is no ascent.
        slack = 1e-5 * jnp.abs(mode.potential_energy) if start.dtype == jnp.float32 else 0.0
        improving = moved.potential_energy <= mode.potential_energy + slack
        improving &= jnp.all(jnp.isfinite(moved.gradient))
        return jax.tree.map(lambda a, b: jnp.where(improving, a, b), moved, mode), count + 1, improving

    start_mode = _second_order(view, start)
    carry = (start_mode, jnp.zeros((), jnp.int32), jnp.ones((), bool))
    return jax.lax.while_loop(unfinished, body, carry)[0]


def _newton_step(mode: Mode) -> jax.Array:
    scale, axes = principal_axes(mode.hessian)
    return axes @ (scale**2 * (axes.T @ mode.gradient))


def principal_axes(hessian: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return posterior standard deviations along the Hessian's eigenvectors, and those.

    A direction without measurable positive curvature gets 1, the scale of the unconstrained space.
    """
    curvatures, axes = jnp.linalg.eigh(hessian)
    floor = 10 * jnp.finfo(hessian.dtype).eps * jnp.max(jnp.abs(curvatures))
    sound = curvatures > floor
    return jnp.where(sound, jax.lax.rsqrt(jnp.where(sound, curvatures, 1.0)), 1.0), axes
