"""The compiled programs of a server: transitions with gradients that workers delivered."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, final

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.distributed.delivered import DeliveredEstimate, Delivery
from numpyro_sgmcmc.distributed.packing import Packed, Packing, packing_of
from numpyro_sgmcmc.driving.collected import Collected
from numpyro_sgmcmc.gradient import Estimate
from numpyro_sgmcmc.kernels.renewal import renewed
from numpyro_sgmcmc.kernels.stepping import stepper_of
from numpyro_sgmcmc.kernels.transitions import Drawn, begun, drawn, ended, moved
from numpyro_sgmcmc.model import Structure, split_arguments
from numpyro_sgmcmc.preparation import Options
from numpyro_sgmcmc.staleness import CurvatureRemedy, FrictionRemedy
from numpyro_sgmcmc.state import Tuned
from numpyro_sgmcmc.stepper import Stepper
from numpyro_sgmcmc.transition import Walker
from numpyro_sgmcmc.types import Minibatch

TOGETHER = 256
"""Transitions whose random numbers are drawn together, at most."""
NUMBERS = 65_536
"""Random numbers that are drawn together, about."""


class Chain(NamedTuple):
    """A chain within an iteration.

    Attributes:
        state: the kernel's state, current at the beginning of the iteration.
        walker: the walker.
        start: the walker at the beginning of the iteration.
        done: number of transitions of the iteration that were taken, ().
    """

    state: Any
    walker: Walker
    start: Walker
    done: jax.Array


class Block(NamedTuple):
    """Estimates for consecutive transitions, taken at one position.

    Attributes:
        values: estimates of the gradient of U, and after each of them that of U, (b, d + 1).
        then: the position, (d,).
        numbers: the age of the first estimate at its transition, the number of transitions, at
            most b, and the place of what was drawn for the first of them, (3,). Ages grow by 1 from
            one transition to the next.
    """

    values: Any
    then: Any
    numbers: Any


class Moved(NamedTuple):
    """A chain after a block.

    Attributes:
        chain: the chain.
        query: the position at which its next gradient is needed, (d,).
        draws: what is kept of the iterations that ended, by field, (b, ...); the first ones are
            filled.
    """

    chain: Packed
    query: jax.Array
    draws: Packed


@final
@dataclass(frozen=True, eq=False)
class ChainProgram:
    """The programs of a server, with the model's arrays as inputs.

    A transition is that of the kernel (`kernels/transitions.py`) with another gradient estimator.
    The friction that compensates an old gradient is that of its own age. Between two calls a chain
    is a few vectors. What is random in single transitions is computed by a program of its own, for
    many of them together, while a worker computes a gradient.

    Attributes:
        options: the kernel's options.
        structure: the model's structure.
        args: positional arguments of the model.
        kwargs: keyword arguments of the model.
        collected: what is kept of a draw.
        like: a kernel's state of one chain, of which only shapes and types count.
        size: transitions of a block, at most.
    """

    options: Options
    structure: Structure
    args: tuple
    kwargs: dict
    collected: Collected
    like: Any
    size: int

    def first(self, state: Any) -> Packed:
        """Return a chain before its first transition, from a kernel's state."""
        return self._first(state)

    def state(self, chain: Packed) -> Any:
        """Return the kernel's state of a chain, current at the beginning of the iteration."""
        return self._state(chain)

    def query(self, chain: Packed) -> jax.Array:
        """Return the position at which the next gradient is needed, (d,)."""
        return self._query(self._arrays, chain)

    @cached_property
    def together(self) -> int:
        """Number of transitions whose random numbers are drawn together."""
        dimension = self.structure.ravel(self.like.z).size
        return min(TOGETHER, max(1, NUMBERS // dimension))

    def drawn(self, chain: Packed) -> Packed | None:
        """Return what is random in the next transitions; None if blocks may be longer than one."""
        return self._drawn(self._arrays, chain) if self.size == 1 else None

    def advance(self, chain: Packed, drawn: Packed | None, block: Block) -> Moved:
        """Return the chain after the transitions of a block, a single one with what was drawn."""
        return self._advance(self._arrays, chain, drawn, block)

    def renewed(self, chain: Packed) -> Packed:
        """Return a chain at the beginning of an iteration with its gradient estimator renewed."""
        return self._renew(self._arrays, chain)

    @cached_property
    def packing(self) -> Packing:
        """Where the parts of a chain are in its vectors."""
        return packing_of(partial(_chain_of, self.structure), self.like)

    @cached_property
    def packing_of_drawn(self) -> Packing:
        """Where what is random in a transition is in its vectors."""

        def drawn(args: tuple, kwargs: dict, state: Any) -> Drawn:
            return _drawn(self, args, kwargs, _chain_of(self.structure, state))

        return packing_of(self._with_arguments(drawn), self._arrays, self.like)

    @cached_property
    def packing_of_draws(self) -> Packing:
        """Where what is kept of the iterations of a block is in its vectors."""

        def empty(args: tuple, kwargs: dict, state: Any) -> dict[str, Any]:
            constrain = partial(self.structure.constrain, args=args, kwargs=kwargs)
            kept = self.collected.of(state, constrain)
            return jax.tree.map(lambda x: jnp.zeros((self.size, *x.shape), x.dtype), kept)

        return packing_of(self._with_arguments(empty), self._arrays, self.like)

    @cached_property
    def _arrays(self) -> list[Any]:
        return jax.device_put(split_arguments(self.args, self.kwargs)[0])

    @cached_property
    def _first(self) -> Callable:
        return jax.jit(lambda state: self.packing.packed(_chain_of(self.structure, state)))

    @cached_property
    def _state(self) -> Callable:
        return jax.jit(lambda chain: self.packing.unpacked(chain).state)

    @cached_property
    def _drawn(self) -> Callable:
        return jax.jit(self._with_arguments(partial(_drawn_together, self)))

    @cached_property
    def _advance(self) -> Callable:
        return jax.jit(self._with_arguments(partial(_advanced, self)))

    @cached_property
    def _query(self) -> Callable:
        def queried(args: tuple, kwargs: dict, packed: Packed) -> jax.Array:
            return _queried(self, args, kwargs, self.packing.unpacked(packed))

        return jax.jit(self._with_arguments(queried))

    @cached_property
    def _renew(self) -> Callable:
        return jax.jit(self._with_arguments(partial(_renewed, self)))

    def _with_arguments(self, fn: Callable) -> Callable:
        _, rebuild = split_arguments(self.args, self.kwargs)

        def traced(arrays: list[Any], *inputs: Any) -> Any:
            return fn(*rebuild(arrays), *inputs)

        return traced

    def stepper(self, args: tuple, kwargs: dict, tuned: Tuned) -> Stepper:
        """Return the stepper whose estimates are delivered, without a remedy by friction."""
        plain = replace(self.options, staleness=None)
        stepper = stepper_of(plain, self.structure, args, kwargs, tuned)
        remedy = tuned.remedy if isinstance(tuned.remedy, CurvatureRemedy) else None
        transition = replace(stepper.transition, gradient=DeliveredEstimate(remedy))
        return replace(stepper, transition=transition)


def _chain_of(structure: Structure, state: Any) -> Chain:
    """Return a chain before its first transition."""
    walker = Walker(structure.ravel(state.z), state.aux, (), state.preconditioner)
    return Chain(state, walker, walker, jnp.zeros((), jnp.int32))


def _renewed(program: ChainProgram, args: tuple, kwargs: dict, packed: Packed) -> Packed:
    chain = program.packing.unpacked(packed)
    state = chain.state
    given = program.options, program.structure, args, kwargs
    gradient = renewed(*given, state, state.gradient, state.z)
    return program.packing.packed(chain._replace(state=state._replace(gradient=gradient)))


def _drawn(program: ChainProgram, args: tuple, kwargs: dict, chain: Chain) -> Drawn:
    """Return what is random in the next transition, without its minibatch, which a worker draws."""
    stepper = program.stepper(args, kwargs, chain.state.tuned)
    before, _ = _iteration(program.options, chain.state)
    found = drawn(stepper, before + chain.done, chain.state, chain.walker.position)
    return found._replace(minibatch=Minibatch({}))


def _drawn_together(program: ChainProgram, args: tuple, kwargs: dict, packed: Packed) -> Packed:
    """Return what is random in the next transitions, each array with an axis for them."""
    first = program.packing.unpacked(packed)

    def body(chain: Chain, _: None) -> tuple[Chain, Packed]:
        found = _drawn(program, args, kwargs, chain)
        state = chain.state._replace(rng_key=found.key, minibatch=found.scheme)
        # Transitions are counted on as if the iteration had no end.
        return chain._replace(state=state, done=chain.done + 1), program.packing_of_drawn.packed(
            found
        )

    return jax.lax.scan(body, first, length=program.together)[1]


def _queried(program: ChainProgram, args: tuple, kwargs: dict, chain: Chain) -> jax.Array:
    stepper = program.stepper(args, kwargs, chain.state.tuned)
    before, _ = _iteration(program.options, chain.state)
    step_size = stepper.step_size(before + chain.done)
    step_size = jnp.asarray(step_size, chain.walker.position.dtype)
    return stepper.transition.query(chain.walker, step_size)


def _advanced(
    program: ChainProgram,
    args: tuple,
    kwargs: dict,
    packed: Packed,
    first: Packed | None,
    block: Block,
) -> Moved:
    chain = program.packing.unpacked(packed)
    options, structure, tuned = program.options, program.structure, chain.state.tuned
    stepper = program.stepper(args, kwargs, tuned)
    constrain = partial(structure.constrain, args=args, kwargs=kwargs)
    is_single = options.num_steps == 1

    def body(j: Any, carry: tuple[Chain, Any, Any]) -> tuple[Chain, Any, Any]:
        chain, place, draws = carry
        chain = _where(is_single or chain.done == 0, _begun, chain)
        before, steps = _iteration(options, chain.state)
        age = block.numbers[0] + j
        damped = stepper
        if isinstance(tuned.remedy, FrictionRemedy):
            dynamics = tuned.remedy.at_age(age).damped(stepper.transition.dynamics)
            damped = replace(stepper, transition=replace(stepper.transition, dynamics=dynamics))
        estimate = Estimate(block.values[j, -1], block.values[j, :-1])
        walker = chain.walker._replace(gradient=Delivery(estimate, block.then))
        if first is None:
            chance = _drawn(program, args, kwargs, chain)
        else:
            at_place = jax.tree.map(lambda x: x[block.numbers[2]], first)
            chance = program.packing_of_drawn.unpacked(at_place)
        state, walker = moved(damped, before + chain.done, chain.state, walker, chance)
        state = state._replace(staleness=state.staleness + age.astype(state.staleness.dtype))
        chain = chain._replace(
            state=state, walker=walker._replace(gradient=()), done=chain.done + 1
        )

        def end(carry: tuple[Chain, Any, Any]) -> tuple[Chain, Any, Any]:
            chain, place, draws = carry
            given = options, structure, args, kwargs
            state, walker = ended(*given, chain.state, chain.walker, chain.start, steps)
            values = program.collected.of(state, constrain)
            draws = jax.tree.map(lambda x, value: x.at[place].set(value), draws, values)
            return Chain(state, walker, walker, jnp.zeros_like(chain.done)), place + 1, draws

        return _where(is_single or chain.done == steps, end, (chain, place, draws))

    carry = chain, jnp.zeros((), jnp.int32), program.packing_of_draws.zeros()
    if program.size == 1:  # a loop would cost as much as the transition
        chain, _, draws = body(0, carry)
    else:
        chain, _, draws = jax.lax.fori_loop(0, block.numbers[1], body, carry)
    return Moved(
        program.packing.packed(chain),
        _queried(program, args, kwargs, chain),
        program.packing_of_draws.packed(draws),
    )


def _where(condition: Any, fn: Callable, value: Any) -> Any:
    """Return fn(value) if the condition holds, else the value; without a branch if it is True."""
    return fn(value) if condition is True else jax.lax.cond(condition, fn, lambda same: same, value)


def _begun(chain: Chain) -> Chain:
    return chain._replace(state=begun(chain.state))


def _iteration(options: Options, state: Any) -> tuple[jax.Array, Any]:
    """Return the number of transitions before an iteration, and in it."""
    pace = state.tuned.pace
    if pace is None:
        assert options.num_steps is not None
        return state.i * options.num_steps, options.num_steps
    return pace.before(state.i), pace.steps(state.i)
