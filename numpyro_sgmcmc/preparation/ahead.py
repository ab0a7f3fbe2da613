"""Compiling the programs of a warm-up in other threads, before they are wanted."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.gradient import Anchor
from numpyro_sgmcmc.preconditioner import AbstractLinearMap
from numpyro_sgmcmc.preparation.approximation import laplace_at, rises
from numpyro_sgmcmc.preparation.mode import adam, newton
from numpyro_sgmcmc.preparation.target import Target
from numpyro_sgmcmc.preparation.tuning import (
    CURVATURE_POINTS,
    Tuned,
    Wishes,
    curvature_at,
    noise_program,
)
from numpyro_sgmcmc.preparation.warmup import (
    POINTS,
    points_program,
    stand_in,
    value_and_grad,
    window_lengths,
)
from numpyro_sgmcmc.preparation.windows import WALKERS, Window

Shapes = Any
"""A pytree of `jax.ShapeDtypeStruct`."""


def compile_ahead(
    target: Target,
    wishes: Wishes,
    preconditioner: AbstractLinearMap | None,
    transitions: int,
    finish: Callable[[Shapes, Shapes, Shapes], None],
) -> None:
    """Begin to compile what a warm-up from a mode will most likely run, in the order of its use.

    Compiling takes most of a warm-up's time, and leaves Python's thread free. What turns out
    otherwise (a mode that is none, noise that asks for a correction) is compiled when it comes.

    Args:
        target: the model bound to its data, with at most as many parameters as have a Hessian.
        wishes: what the user chose.
        preconditioner: the user's, or None.
        transitions: length of the windows.
        finish: is called with the shapes of anchor, tuned numbers and approximation.
    """
    key = jax.eval_shape(jax.random.key, 0)
    dtype = jnp.result_type(*jax.tree.leaves(target.structure.prototype))

    def shape(*sizes: int, dtype: Any = dtype) -> Any:
        return jax.ShapeDtypeStruct(sizes, dtype)

    position = shape(target.structure.dimension)
    points = shape(POINTS, *position.shape)
    target.ahead(adam, key, position, brief=True)
    mode = target.ahead(newton, position)
    target.ahead(rises, mode, key)
    believed = target.ahead(laplace_at, mode, brief=True)
    draw, name = points_program(wishes.temperature)
    target.ahead(draw, believed, key, name=name, brief=True)
    linear = preconditioner or believed.spread
    target.ahead(curvature_at, linear, shape(CURVATURE_POINTS, *position.shape), key, brief=True)
    anchor: Any = Anchor(*mode[:3])
    gradient = wishes.gradients[0]
    if target.structure.plates or target.structure.is_random:
        measure, name = noise_program(gradient)
        target.ahead(measure, anchor, linear, points, key, name=name)
    friction = shape() if hasattr(wishes.dynamics, "friction") else None
    tuned = Tuned(shape(), friction, linear)
    if window_lengths(transitions) and wishes.temperature > 0:
        window = Window(wishes.dynamics, stand_in(gradient), wishes.temperature)
        length = shape(dtype=jnp.int32)
        start = shape(WALKERS, *position.shape)
        window.ahead(target, key, tuned, anchor, position, believed.spread, start, length)
        target.ahead(value_and_grad, position)
    finish(anchor, tuned, believed)
