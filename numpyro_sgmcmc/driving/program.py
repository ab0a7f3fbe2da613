"""The compiled program of a run: any number of iterations, with buffers of a constant size."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, final

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.driving.collected import Collected, for_each_chain
from numpyro_sgmcmc.driving.leaves import owned, strong
from numpyro_sgmcmc.driving.passed import Passed

BUFFER = 4 * 2**20
"""Bytes of the draws that one call of a program returns, all chains together, at least one draw."""
MOST_DRAWS = 2**16


class Layout(NamedTuple):
    """How chains are computed.

    Attributes:
        chains: number of chains.
        method: "vectorized", "sequential" or "parallel".
    """

    chains: int
    method: str

    @property
    def is_vectorised(self) -> bool:
        """Whether the kernel gets the states of all chains at once."""
        return self.chains > 1 and self.method == "vectorized"

    @property
    def is_sequential(self) -> bool:
        """Whether chains are computed one after the other."""
        return self.chains > 1 and self.method == "sequential"

    @property
    def is_mapped(self) -> bool:
        """Whether every chain has a device of its own."""
        return self.chains > 1 and self.method == "parallel"


@final
class Program:
    """A compiled program for the iterations of a kernel.

    The number of iterations is an input, and the buffers for the draws have a constant size, so one
    compilation serves a whole run. The body of its loop is that of NumPyro's loop, so that both
    give the same bits, except that only draws that are kept are constrained and collected.

    The state of the chains is donated: after a call the old one is gone.

    Args:
        kernel: a NumPyro kernel.
        constrain: `MCMC`'s own `postprocess_fn`; None for the kernel's.
        layout: how chains are computed.
        collected: what is kept of a draw.
        thinning: number of iterations of a draw.
        passed: arguments of the model, of which the inputs may be others at each call.
    """

    def __init__(
        self,
        kernel: Any,
        constrain: Callable | None,
        layout: Layout,
        collected: Collected,
        thinning: int,
        passed: Passed,
    ) -> None:
        self._kernel, self._constrain, self._layout = kernel, constrain, layout
        self._collected, self._thinning = collected, thinning
        # What is constant is kept, and no inputs: a program that is kept does not keep data.
        self._rebuild = passed.rebuild
        if layout.is_mapped:
            assert not passed.inputs
            self._call = jax.pmap(self._chunk, in_axes=(None, 0, None, None), donate_argnums=1)
        else:
            self._call = jax.jit(self._chunk, donate_argnums=1)

    @property
    def chains(self) -> int:
        """Number of chains."""
        return self._layout.chains

    def prepared(self, state: Any, model: tuple[tuple, dict], is_new: bool = False) -> Any:
        """Return first states that own their memory, and have the types that iterations return.

        `is_new` tells whether the kernel has just made the states.
        """
        if self._layout.is_mapped:  # what a mapped `init` returned is strong already
            return owned(state)
        sample = partial(self._kernel.sample, model_args=model[0], model_kwargs=model[1])
        if self._layout.is_sequential:
            return [strong(owned(one, is_new), sample) for one in state]
        return strong(owned(state, is_new), sample)

    def shapes(self, state: Any, model: tuple[tuple, dict]) -> dict[str, Any]:
        """Return shape and type of what is kept of one draw, with an axis of chains in front."""
        one = self.one(state)
        found = jax.eval_shape(lambda s: self._kept(s, *model), one)
        lead = () if self._layout.is_vectorised else (self._layout.chains,)
        return jax.tree.map(lambda x: jax.ShapeDtypeStruct((*lead, *x.shape), x.dtype), found)

    def capacity(self, state: Any, model: tuple[tuple, dict]) -> int:
        """Return the most draws of a chain that a call returns."""
        return capacity_of(self.shapes(state, model))

    def begun(self, init: Callable[[Any], Any], given: Any) -> Any:
        """Return the first states of chains that have a device each.

        NumPyro compiles `init` and its loop together there, and the bits of a sum over the data may
        depend on that. So this program has a loop too, of no iterations.
        """

        def begin(given: Any, iterations: jax.Array, skipped: jax.Array) -> Any:
            return self._chunk((), init(given), iterations, skipped)[0]

        none = np.int32(0)
        return jax.pmap(begin, in_axes=(0, None, None))(given, none, none)

    def advance(self, state: Any, iterations: int, skipped: int, inputs: tuple) -> tuple[Any, Any]:
        """Begin the iterations; return the new state and the buffers with the draws.

        The first of the iterations, `skipped` of them, give no draws.
        """
        counts = np.int32(iterations), np.int32(skipped)
        if not self._layout.is_sequential:
            return self._call(inputs, state, *counts)
        done = [self._call(inputs, one, *counts) for one in state]
        return [new for new, _ in done], [buffers for _, buffers in done]

    def draws(self, buffers: Any, count: int) -> dict[str, Any]:
        """Return the first draws in the buffers as host arrays (chain, draw, ...)."""
        if self._layout.is_sequential:
            each = [jax.tree.map(lambda x: np.asarray(x)[:count], one) for one in buffers]
            return jax.tree.map(lambda *arrays: np.stack(arrays), *each)
        if self._layout.is_mapped:
            return jax.tree.map(lambda x: np.asarray(x)[:, :count], buffers)
        if self._layout.is_vectorised:
            return jax.tree.map(lambda x: np.asarray(x)[:count].swapaxes(0, 1), buffers)
        return jax.tree.map(lambda x: np.asarray(x)[None, :count], buffers)

    def iteration(self, given: tuple[tuple, Any]) -> Any:
        """Return an iteration and what is kept of it, from inputs and the kernel's state."""
        inputs, state = given
        model = self._rebuild(*inputs)
        moved = self._kernel.sample(state, *model)
        return moved, self._kept(moved, *model)

    def one(self, state: Any) -> Any:
        """Return the state that the kernel gets."""
        if self._layout.is_sequential:
            return state[0]
        return jax.tree.map(lambda x: x[0], state) if self._layout.is_mapped else state

    def _kept(self, state: Any, args: tuple, kwargs: dict) -> dict[str, Any]:
        constrain: Any = self._constrain or self._kernel.postprocess_fn(args, kwargs)
        if self._layout.is_vectorised:
            constrain = for_each_chain(constrain, self._layout.chains)
        return self._collected.of(state, constrain)

    def _chunk(
        self, inputs: tuple, state: Any, iterations: jax.Array, skipped: jax.Array
    ) -> tuple[Any, Any]:
        args, kwargs = self._rebuild(*inputs)
        thinning = self._thinning
        kept = jax.eval_shape(lambda s: self._kept(s, args, kwargs), state)
        all_chains = 1 if self._layout.is_vectorised else self._layout.chains
        capacity = capacity_of(kept, all_chains)
        empty = jax.tree.map(lambda x: jnp.zeros((capacity, *x.shape), x.dtype), kept)

        def body(i: jax.Array, carry: tuple[Any, Any]) -> tuple[Any, Any]:
            state, buffers = carry
            state = self._kernel.sample(state, args, kwargs)
            place = (i - skipped) // thinning
            is_kept = (i >= skipped) & ((i - skipped) % thinning == thinning - 1)

            def with_draw(buffers: Any) -> Any:
                values = self._kept(state, args, kwargs)
                return jax.tree.map(lambda x, value: x.at[place].set(value), buffers, values)

            return state, jax.lax.cond(is_kept, with_draw, lambda same: same, buffers)

        return jax.lax.fori_loop(0, iterations, body, (state, empty))


def capacity_of(kept: Any, times: int = 1) -> int:
    """Return the most draws that buffers for such values hold."""
    size = times * sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(kept))
    return min(max(BUFFER // max(size, 1), 1), MOST_DRAWS)
