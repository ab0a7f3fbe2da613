"""The whole-data potential and its derivatives, compiled once for a model and its data."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, final

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.minibatch import AbstractMinibatch
from numpyro_sgmcmc.potential import (
    Structure,
    over_whole_data,
    split_arguments,
    stochastic_potential,
)
from numpyro_sgmcmc.types import Minibatch, Plate, StochasticPotential

HESSIAN_COLUMNS = 32
"""Hessian columns taken at once: memory of a block is this many times that of a gradient."""


ROWS_AT_ONCE = 1_024
"""Rows whose gradients are taken at once."""

MANY_ROWS = 4_096
"""Rows that stand for the whole data where a curvature need not be exact."""


@final
@dataclass(eq=False)
class Target:
    """One-time work on the whole data: every method is a blocked pass with the data as an input.

    `run(fn, *inputs)` compiles `fn(view, *inputs)` at its first use and keeps it, so that the
    chains of one `MCMC` share what is compiled.
    """

    structure: Structure
    minibatch: AbstractMinibatch
    args: tuple
    kwargs: dict
    _compiled: dict[Any, Callable] = field(default_factory=dict)

    def run(self, fn: Callable, *inputs: Any, name: Any = None) -> Any:
        """Return `fn(view, *inputs)`, compiled with the model's arrays as inputs.

        `name` tells apart closures of one function; the default is the function itself.
        """
        arrays, rebuild = split_arguments(self.args, self.kwargs)
        key = fn if name is None else name
        if key not in self._compiled:

            def traced(arrays: list[Any], *inputs: Any) -> Any:
                args, kwargs = rebuild(arrays)
                return fn(View(self.structure, self.minibatch, args, kwargs), *inputs)

            self._compiled[key] = jax.jit(traced)
        return self._compiled[key](arrays, *inputs)


@final
@dataclass(frozen=True)
class View:
    """What one-time work sees of a model: estimates and exact values of U and its derivatives."""

    structure: Structure
    scheme: AbstractMinibatch
    args: tuple
    kwargs: dict

    @property
    def plates(self) -> dict[str, Plate]:
        """The subsampled plates by name."""
        return self.structure.plates

    @property
    def potential(self) -> StochasticPotential:
        """The stochastic potential."""
        return stochastic_potential(self.structure, self.args, self.kwargs)

    def draw(self, key: jax.Array) -> Minibatch:
        """Return an independent minibatch."""
        key_state, key_rows, key_density = jax.random.split(key, 3)
        plates = self.structure.plates
        state = self.scheme.init(key_state, plates)
        indices, _ = self.scheme.draw(key_rows, jnp.zeros((), jnp.int32), plates, state)
        return Minibatch(indices, key_density if self.structure.is_random else None)

    def many_rows(self, key: jax.Array, rows: int = MANY_ROWS) -> Minibatch:
        """Return all rows of plates that have few, and a large sample of the others' rows."""
        key_density, *keys = jax.random.split(key, len(self.plates) + 1)
        indices = {}
        for group in self.structure.groups:
            most = int(rows ** (1 / len(group)))
            for name in group:
                size, k = self.plates[name].size, keys[len(indices)]
                if size <= most:
                    indices[name] = jnp.arange(size)
                else:
                    indices[name] = jax.random.randint(k, (most,), 0, size, jnp.int32)
        return Minibatch(indices, key_density if self.structure.is_random else None)

    def over(self, fn: Callable[[Minibatch], Any]) -> Any:
        """Return what `fn` of all rows would be, for `fn` linear in U."""
        key = jax.random.key(0) if self.structure.is_random else None
        return over_whole_data(self.structure, lambda rows: fn(Minibatch(rows, key)))

    def value_and_grad(self, position: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return U and grad U."""
        return self.over(partial(jax.value_and_grad(self.potential), position))

    def row_gradients(self, position: jax.Array) -> jax.Array:
        """Return the gradient of each row's minibatch of one, (N, d); one subsampled plate."""
        ((name, plate),) = self.plates.items()
        key = jax.random.key(0) if self.structure.is_random else None

        def of_row(row: jax.Array) -> jax.Array:
            return jax.grad(self.potential)(position, Minibatch({name: row[None]}, key))

        return jax.lax.map(of_row, jnp.arange(plate.size), batch_size=ROWS_AT_ONCE)

    def hessian_product(self, position: jax.Array, vector: jax.Array) -> jax.Array:
        """Return H v."""
        return self.over(partial(self.hessian_product_over, position, vector))

    def hessian_product_over(
        self, position: jax.Array, vector: jax.Array, minibatch: Minibatch
    ) -> jax.Array:
        """Return the estimate of H v from some rows."""
        gradient = partial(jax.grad(self.potential), minibatch=minibatch)
        return jax.jvp(gradient, (position,), (vector,))[1]

    def second_order(self, position: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Return U, grad U and the symmetrised Hessian (d, d), in one pass."""

        def derivatives(minibatch: Minibatch) -> tuple[jax.Array, jax.Array, jax.Array]:
            both = partial(jax.value_and_grad(self.potential), minibatch=minibatch)
            (value, gradient), pushforward = jax.linearize(both, position)
            basis = jnp.eye(position.size, dtype=position.dtype)
            column = lambda vector: pushforward(vector)[1]  # noqa: E731
            return value, gradient, jax.lax.map(column, basis, batch_size=HESSIAN_COLUMNS)

        value, gradient, hessian = self.over(derivatives)
        return value, gradient, (hessian + hessian.T) / 2
