"""What a worker computes: minibatch gradients at a position, for given keys."""

from functools import partial
from time import perf_counter
from typing import Any, NamedTuple, final

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.cpu.soundness import check_compiler
from numpyro_sgmcmc.distributed.messages import Answer, Message, Request, packed, unpacked
from numpyro_sgmcmc.distributed.wire import wrapped
from numpyro_sgmcmc.kernels.stepping import stepper_of
from numpyro_sgmcmc.model import read_structure, split_arguments
from numpyro_sgmcmc.preparation import Options
from numpyro_sgmcmc.state import Tuned

SHARED = -1
"""Stands for all servers where their estimators never change."""


class Model(NamedTuple):
    """A model with its arguments; arrays are NumPy arrays.

    Attributes:
        function: the NumPyro model.
        args: its positional arguments.
        kwargs: its keyword arguments.
    """

    function: Any
    args: tuple
    kwargs: dict


class Settings(NamedTuple):
    """What a worker must know of a run besides the model; arrays are NumPy arrays.

    Attributes:
        options: the kernel's options.
        tuned: the settings of its chains.
        kinds: of the chains' keys, and of the states of the minibatch scheme (`wire.py`).
    """

    options: Options
    tuned: Tuned
    kinds: tuple[str, Any]


@final
class GradientProgram:
    """The compiled program of a worker. The estimators of servers are kept by version.

    Args:
        model: the model, whose arrays go to the device once.
        settings: what else it depends on.

    Raises:
        RuntimeError: if XLA computes wrong numbers on this machine (`check_compiler`).
    """

    def __init__(self, model: Model, settings: Settings) -> None:
        check_compiler()
        arrays, rebuild = split_arguments(model.args, model.kwargs)
        self._arrays = jax.device_put(arrays)
        self._tree = jax.tree.structure(settings.kinds[1])
        structure = read_structure(model.function, *rebuild(self._arrays))
        self._program = jax.jit(partial(_computed, settings, structure, rebuild))
        self._states: dict[int, tuple[int, Any]] = {}

    def hold(self, server: int, version: int, state: Any) -> None:
        """Keep the state of a server's gradient estimator in place of the one before."""
        self._states[server] = version, jax.device_put(state)

    def reply(self, message: bytes | Message) -> bytes | Message:
        """Return the answer to a request, both as they are sent."""
        request = unpacked(message)
        assert isinstance(request, Request)
        return packed(self.answer(request))

    def answer(self, request: Request) -> Answer:
        """Return the estimates that a request asks for."""
        begin = perf_counter()
        version, state = self._states.get(request.server) or self._states[SHARED]
        counts = np.arange(request.step, request.step + len(request.keys), dtype=np.int32)
        schemes = self._tree.unflatten(request.schemes)
        found = self._program(self._arrays, request.position, request.keys, counts, schemes, state)
        values = np.asarray(found)
        return Answer(request.server, request.step, version, values, perf_counter() - begin)


def _computed(
    settings: Settings,
    structure: Any,
    rebuild: Any,
    arrays: list[Any],
    position: jax.Array,
    keys: jax.Array,
    counts: jax.Array,
    schemes: Any,
    state: Any,
) -> jax.Array:
    """Return gradients, and after each of them the estimate of U, (b, d + 1)."""
    args, kwargs = rebuild(arrays)
    stepper = stepper_of(settings.options, structure, args, kwargs, settings.tuned)
    estimator = stepper.transition.gradient

    def one(given: tuple[jax.Array, jax.Array, Any]) -> jax.Array:
        data, count, leaves = given
        key, scheme = wrapped(settings.kinds, (data, leaves))
        minibatch, _ = stepper.minibatch(key, count, scheme)
        estimate, _ = estimator.estimate(stepper.potential, position, minibatch, state)
        return jnp.append(estimate.gradient, estimate.potential_energy)

    if len(keys) == 1:  # without a loop
        return one(jax.tree.map(lambda x: x[0], (keys, counts, schemes)))[None]
    return jax.lax.map(one, (keys, counts, schemes))
