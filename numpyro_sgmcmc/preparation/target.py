"""The whole-data potential and its derivatives, compiled once for a model and its data."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from typing import Any, NamedTuple, final

import jax
import jax.numpy as jnp
from jax.core import Tracer

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.cpu.compiling import compiler_options
from numpyro_sgmcmc.minibatch import AbstractMinibatch, uniform_rows
from numpyro_sgmcmc.model import (
    Fingerprint,
    Structure,
    are_alike,
    fingerprint,
    non_finite_arguments,
    over_whole_data,
    part_of_whole_data,
    split_arguments,
    stochastic_potential,
)
from numpyro_sgmcmc.preparation import row_sums
from numpyro_sgmcmc.preparation.passes import AbstractPasses
from numpyro_sgmcmc.preparation.thresholds import MANY_ROWS, ROWS_AT_ONCE
from numpyro_sgmcmc.types import Minibatch, Plate, StochasticPotential


class Begun(NamedTuple):
    """A program that is being compiled, and the shapes of its outputs."""

    program: Future
    outputs: Any


@final
@dataclass(eq=False)
class Target:
    """A model bound to its data, and the compiled programs of the one-time work on them.

    `run(fn, *inputs)` compiles `fn(view, *inputs)` at its first use and keeps the program. All
    chains of one `MCMC` share it. The data are an input of each program.

    Attributes:
        structure: of the model, whose effects have the coordinates that the model gives them.
        minibatch: the minibatch scheme.
        args: the model's positional arguments.
        kwargs: its keyword arguments.
        centring: weights of the coordinates in which effects move, by site, or None. They too are
            inputs of each program, so that targets with different weights share them.
        passes: makes passes over all rows where it can; None makes all of them here.
    """

    structure: Structure
    minibatch: AbstractMinibatch
    args: tuple
    kwargs: dict
    centring: dict[str, jax.Array] | None = None
    passes: AbstractPasses | None = None
    _programs: dict[Any, Callable] = field(default_factory=dict)
    _ahead: dict[Any, Begun] = field(default_factory=dict)

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """The fingerprint of the data, taken when this property is first read."""
        return fingerprint(self.args, self.kwargs)

    @cached_property
    def non_finite_arguments(self) -> list[str]:
        """The names of array arguments with NaN or infinite entries."""
        return non_finite_arguments(self.args, self.kwargs)

    def with_programs_of(self, last: "Target | None") -> "Target":
        """Return this target with the programs of the last target, if they can be used again.

        They can be used again if the arguments differ only in the entries of their arrays.
        """
        if last is None or not are_alike((self.args, self.kwargs), (last.args, last.kwargs)):
            return self
        if not self.structure.is_like(last.structure):
            return self
        return replace(last, args=self.args, kwargs=self.kwargs)

    def partly_centred(self, weights: dict[str, jax.Array] | None) -> "Target":
        """Return this target with effects that move in other `Coordinates`."""
        return replace(self, centring=weights)

    def total(self, fn: Callable, rows: Callable, *inputs: Any) -> Any:
        """Return `fn(view, *inputs)`, a pass over all rows that adds up `rows`.

        Args:
            fn: function of a `View` and the inputs.
            rows: the same for a minibatch, a function of `row_sums.py`: processes that make passes
                compute it for parts of the rows.
            inputs: arrays, or pytrees of arrays.
        """
        if self.passes is None or is_traced(inputs):
            return self.run(fn, *inputs)
        return self.total_elsewhere(rows, *inputs)

    def total_elsewhere(self, rows: Callable, *inputs: Any) -> Any:
        """Return `rows(view, minibatch, *inputs)` for all rows, by other processes."""
        assert self.passes is not None
        return jax.tree.map(jnp.asarray, self.passes.total(rows, self.centring, inputs))

    def with_passes(self, passes: AbstractPasses) -> "Target":
        """Return this target with others who make passes over all rows, and programs of its own."""
        return replace(self, passes=passes, _programs={}, _ahead={})

    def run(
        self,
        fn: Callable,
        *inputs: Any,
        name: Any = None,
        optimise: bool = True,
        donate: tuple[int, ...] = (),
    ) -> Any:
        """Return `fn(view, *inputs)`, compiled with the model's arrays as inputs.

        Args:
            fn: function of a `View` and the inputs; it is traced at its first use.
            *inputs: arrays, or pytrees of arrays.
            name: distinguishes closures of one function; by default the function itself.
            optimise: whether to optimise the program, for those that compute for long.
            donate: places of inputs that are not used again, whose memory the outputs may take.
        """
        key = fn if name is None else name
        arrays, _ = split_arguments(self.args, self.kwargs)
        if is_traced((arrays, inputs)):
            # The enclosing program is compiled with its own options.
            return self._program((key, "inner"), fn, None)(arrays, self.centring, *inputs)
        compiled = self._ahead.get(self._place(key, inputs)) if self._ahead else None
        if compiled is not None:
            return compiled.program.result()(arrays, self.centring, *inputs)
        program = self._program(key, fn, self._options(optimise), donate)
        return program(arrays, self.centring, *inputs)

    def ahead(self, fn: Callable, *inputs: Any, name: Any = None, optimise: bool = True) -> Any:
        """Begin to compile `fn` in another thread for inputs of these shapes; return output shapes.

        Tracing stays in this thread, because NumPyro's handlers are global. For inputs of other
        shapes `run` compiles `fn` as usual.
        """
        return self._begun(fn, inputs, name, optimise).outputs

    def ready(self, fn: Callable, *inputs: Any, name: Any = None, optimise: bool = True) -> None:
        """Compile `fn` for inputs of these shapes, so that `run` only executes it."""
        self._begun(fn, inputs, name, optimise).program.result()

    def _begun(self, fn: Callable, inputs: tuple, name: Any, optimise: bool) -> Begun:
        key = fn if name is None else name
        arrays, _ = split_arguments(self.args, self.kwargs)
        place = self._place(key, inputs)
        if place not in self._ahead:
            program = self._program(key, fn, self._options(optimise))
            traced = program.trace(arrays, self.centring, *inputs)
            compiled = _compiler().submit(traced.lower().compile)
            self._ahead[place] = Begun(compiled, traced.out_info)
        return self._ahead[place]

    def _place(self, key: Any, inputs: tuple) -> Any:
        return key, _signature((self.centring, inputs))

    def _options(self, optimise: bool) -> dict[str, Any] | None:
        return compiler_options(self.structure.dimension, optimise)

    def _program(
        self,
        key: Any,
        fn: Callable,
        options: dict[str, Any] | None,
        donate: tuple[int, ...] = (),
    ) -> Any:
        if key not in self._programs:
            _, rebuild = split_arguments(self.args, self.kwargs)
            structure, minibatch = self.structure, self.minibatch

            def traced(arrays: list[Any], centring: Any, *inputs: Any) -> Any:
                args, kwargs = rebuild(arrays)
                placed = structure.partly_centred(centring, args, kwargs)
                return fn(View(placed, minibatch, args, kwargs), *inputs)

            given = tuple(2 + place for place in donate)  # Arrays and weights come first.
            self._programs[key] = jax.jit(traced, compiler_options=options, donate_argnums=given)
        return self._programs[key]


def is_traced(inputs: Any = ()) -> bool:
    """Return whether JAX is tracing, or any of the inputs is a tracer."""
    return any(isinstance(x, Tracer) for x in [jnp.zeros(()), *jax.tree.leaves(inputs)])


def concretely() -> AbstractContextManager:
    """Return a context in which computations are concrete even while JAX is tracing.

    Outside a trace the context does nothing, because `jax.ensure_compile_time_eval` would compute
    constants of the compiled programs one by one.
    """
    return jax.ensure_compile_time_eval() if is_traced() else nullcontext()


def _signature(inputs: Any) -> Any:
    """Return the structure, shapes and types of the inputs, on which a compiled program depends."""
    leaves, tree = jax.tree.flatten(inputs)
    types = [
        leaf if isinstance(leaf, jax.ShapeDtypeStruct) else jax.typeof(leaf) for leaf in leaves
    ]
    return tree, tuple((t.shape, t.dtype, bool(getattr(t, "weak_type", False))) for t in types)


@cache
def _compiler() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(2, "numpyro_sgmcmc_compiler")


@final
@dataclass(frozen=True)
class View:
    """Estimates and exact values of a model's potential U and its derivatives."""

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

    def partly_centred(self, weights: dict[str, jax.Array] | None) -> "View":
        """Return this view with effects that move in other `Coordinates`."""
        placed = self.structure.partly_centred(weights, self.args, self.kwargs)
        return replace(self, structure=placed)

    def draw(self, key: jax.Array) -> Minibatch:
        """Return an independent minibatch."""
        plates, needs_key = self.structure.plates, self.structure.needs_key
        key, key_density = random.split(key) if needs_key else (key, None)
        first = partial(self.scheme.init, plates=plates)
        state: Any = jax.eval_shape(first, key)
        # A scheme without a state needs no key, and random numbers take long to compile.
        if jax.tree.leaves(state):
            key, key_state = random.split(key)
            state = first(key_state)
        indices, _ = self.scheme.draw(key, jnp.zeros((), jnp.int32), plates, state)
        return Minibatch(indices, key_density)

    def many_rows(self, key: jax.Array, rows: int = MANY_ROWS) -> Minibatch:
        """Return all rows of small plates, and a large sample of rows of the other plates."""
        key_density, *keys = random.split(key, len(self.plates) + 1)
        indices = {}
        for group in self.structure.groups:
            most = int(rows ** (1 / len(group)))
            for name in group:
                size, k = self.plates[name].size, keys[len(indices)]
                if size <= most:
                    indices[name] = jnp.arange(size)
                else:
                    indices[name] = uniform_rows(k, (most,), size)
        return Minibatch(indices, key_density if self.structure.is_random else None)

    def over(self, fn: Callable[[Minibatch], Any]) -> Any:
        """Return the value of `fn` on all rows, computed in blocks; `fn` must be linear in U."""
        key = jax.random.key(0) if self.structure.is_random else None
        return over_whole_data(self.structure, lambda rows: fn(Minibatch(rows, key)))

    def total(self, rows: Callable, *inputs: Any) -> Any:
        """Return `rows(view, minibatch, *inputs)` on all rows."""
        return self.over(lambda minibatch: rows(self, minibatch, *inputs))

    def part_of_total(self, rows: Callable, part: jax.Array, parts: int, inputs: tuple) -> Any:
        """Return one of so many parts of `total`, which add up to it."""
        key = jax.random.key(0) if self.structure.is_random else None
        of_rows = lambda indices: rows(self, Minibatch(indices, key), *inputs)  # noqa: E731
        return part_of_whole_data(self.structure, of_rows, part, parts)

    def value_and_grad(self, position: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return U and grad U."""
        return self.total(row_sums.value_and_grad, position)

    def row_gradients(self, position: jax.Array, rows: jax.Array | None = None) -> jax.Array:
        """Return the gradient of each row's minibatch of one, for one subsampled plate.

        Args:
            position: (d,).
            rows: (n,); by default all of them.

        Returns:
            (n, d).
        """
        ((name, plate),) = self.plates.items()
        key = jax.random.key(0) if self.structure.is_random else None

        def of_row(row: jax.Array) -> jax.Array:
            return jax.grad(self.potential)(position, Minibatch({name: row[None]}, key))

        rows = jnp.arange(plate.size) if rows is None else rows
        return jax.lax.map(of_row, rows, batch_size=ROWS_AT_ONCE)

    def hessian_product(self, position: jax.Array, vector: jax.Array) -> jax.Array:
        """Return H v."""
        return self.total(row_sums.hessian_product, position, vector)

    def hessian_product_over(
        self, position: jax.Array, vector: jax.Array, minibatch: Minibatch
    ) -> jax.Array:
        """Return the estimate of H v from some rows."""
        return row_sums.hessian_product(self, minibatch, position, vector)

    def second_order(self, position: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Return U, grad U and the symmetrised Hessian (d, d), in one pass."""
        value, gradient, hessian = self.total(row_sums.second_order, position)
        return value, gradient, (hessian + hessian.T) / 2
