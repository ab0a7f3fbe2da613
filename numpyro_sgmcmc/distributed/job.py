"""The preparation of a run with workers: the kernel's own, and what servers and workers get."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.distributed.ahead import LENGTH, KeyProgram
from numpyro_sgmcmc.distributed.calendar import Calendar
from numpyro_sgmcmc.distributed.chain import ChainProgram
from numpyro_sgmcmc.distributed.gradients import Model, Settings
from numpyro_sgmcmc.distributed.passes import are_long
from numpyro_sgmcmc.distributed.planning import planned_delay
from numpyro_sgmcmc.distributed.server import Server, Work, first_server
from numpyro_sgmcmc.distributed.wire import kinds_of
from numpyro_sgmcmc.driving.collected import Collected, collected_of
from numpyro_sgmcmc.driving.leaves import is_key
from numpyro_sgmcmc.kernels import AbstractKernel, StaleGradient
from numpyro_sgmcmc.preconditioner import Identity
from numpyro_sgmcmc.preparation import AbstractPasses, Adaptation, Options, Target
from numpyro_sgmcmc.staleness import no_past
from numpyro_sgmcmc.state import Tuned

MARKED = 256
"""Transitions between two marks, about; no request crosses one."""


class Counts(NamedTuple):
    """Numbers of a run that the user gave.

    Attributes:
        num_warmup: iterations that are thrown away.
        num_samples: draws of each server.
        num_servers: number of chains.
        bound: the largest age of a gradient.
        share: the most requests of a server at a time.
        size: transitions of a request.
    """

    num_warmup: int
    num_samples: int
    num_servers: int
    bound: int
    share: int
    size: int


class Asked(NamedTuple):
    """The arguments of a run.

    Attributes:
        rng_key: the key.
        args: positional arguments of the model.
        kwargs: keyword arguments of the model.
        extra_fields: more fields of the state to collect.
        init_params: where chains start, or None.
    """

    rng_key: jax.Array
    args: tuple
    kwargs: dict
    extra_fields: tuple[str, ...] = ()
    init_params: Any = None


class Job(NamedTuple):
    """A prepared run.

    Attributes:
        work: what the servers share.
        servers: the servers before their first transition.
        settings: what workers must know.
        is_shared: whether the servers share the state of their gradient estimator.
        target: the model bound to the data.
        adaptation: what the warm-up chose; None if there was none.
    """

    work: Work
    servers: list[Server]
    settings: Settings
    is_shared: bool
    target: Target
    adaptation: Adaptation | None


def model_of(kernel: AbstractKernel, args: tuple, kwargs: dict) -> Model:
    """Return the model with NumPy arrays, which other processes read without a copy.

    Arrays in a file stay there.
    """
    return Model(kernel.model, *jax.tree.map(_as_numpy, (args, kwargs)))


def planned(kernel: StaleGradient, counts: Counts) -> StaleGradient:
    """Return the kernel with the ages that are expected."""
    return kernel.with_delay(planned_delay(counts.share, counts.size))


def collected_by(kernel: StaleGradient, asked: Asked) -> Collected:
    """Return what is kept of a draw."""
    return collected_of(kernel.sample_field, (*kernel.default_fields, *asked.extra_fields))


def first_states(
    kernel: StaleGradient, counts: Counts, asked: Asked, passes: AbstractPasses | None = None
) -> Any:
    """Return the states of `MCMC` with vectorised chains, after the kernel's preparation.

    Args:
        kernel: with the ages that are expected.
        counts: numbers of the run.
        asked: its arguments.
        passes: makes the preparation's passes over all rows if these are long. They are made in
            this process if it is None, or if there are `init_params`, at which searches start.
    """
    if passes is not None and asked.init_params is None:
        target, _ = kernel.memory.bind(kernel.model, kernel.options, asked.args, asked.kwargs)
        if are_long(target.structure):
            kernel.prepare(counts.num_warmup, asked.args, asked.kwargs, passes)
    several = counts.num_servers > 1
    keys = jax.random.split(asked.rng_key, counts.num_servers) if several else asked.rng_key
    return kernel.init(keys, counts.num_warmup, asked.init_params, asked.args, asked.kwargs)


def job_of(
    kernel: StaleGradient, counts: Counts, asked: Asked, states: Any, iterations: int = 0
) -> Job:
    """Return a prepared run.

    Args:
        kernel: the kernel that has made the states.
        counts: numbers of the run.
        asked: its arguments.
        states: of all chains, after so many iterations.
        iterations: that were done before.
    """
    several, args, kwargs = counts.num_servers > 1, asked.args, asked.kwargs
    each = [_one(states, i) for i in range(counts.num_servers)] if several else [states]
    each = [_light(one) for one in each]
    target, latest = kernel.memory.target, kernel.memory.latest
    assert target is not None and latest is not None
    options, tuned = kernel.options, each[0].tuned
    model = options, target.structure, args, kwargs
    program = ChainProgram(*model, collected_by(kernel, asked), each[0], counts.size)
    stepper = program.stepper(args, kwargs, tuned)
    work = Work(
        program=program,
        keys=KeyProgram(stepper, each[0], max(LENGTH, 4 * counts.size)),
        calendar=_calendar(options, target, tuned, counts),
        bound=counts.bound,
        share=counts.share,
        size=counts.size,
    )
    return Job(
        work=work,
        servers=[first_server(work, i, one, iterations) for i, one in enumerate(each)],
        settings=_settings(kernel.kernel.options, tuned, each[0]),
        is_shared=tuned.gradient.has_constant_state,
        target=target,
        adaptation=latest.adaptation,
    )


def _calendar(options: Options, target: Target, tuned: Tuned, counts: Counts) -> Calendar:
    pace, given = tuned.pace, options.num_steps
    period = tuned.gradient.renewal_period(target.structure.plates)
    numbers = counts.num_warmup, counts.num_samples
    if pace is not None:
        steps, starts_anew = (int(pace.warmup_steps), int(pace.num_steps)), True
    else:
        assert given is not None
        steps, starts_anew = (given, given), False
    return Calendar(*numbers, *steps, period, starts_anew, max(1, MARKED // steps[1]))


def _settings(options: Options, tuned: Tuned, state: Any) -> Settings:
    """Return the settings of workers, without what only a server needs."""
    step_size = None if tuned.step_size is None else jnp.ones(())
    light = tuned._replace(
        step_size=step_size, preconditioner=Identity(), correction=None, pace=None, remedy=None
    )
    return Settings(options, on_host(light), kinds_of((state.rng_key, state.minibatch)))


def _light(state: Any) -> Any:
    """Return a state without points of the past, whose leaves have the types of later states."""
    dimension = state.past.points.shape[-1]
    state = state._replace(past=no_past(jnp.zeros(dimension, state.past.points.dtype), 0))
    strong = lambda x: x if is_key(x) else jax.lax.convert_element_type(x, x.dtype)  # noqa: E731
    return jax.tree.map(strong, state)


def _one(states: Any, place: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[place], states)


def on_host(tree: Any) -> Any:
    """Return a pytree of NumPy arrays."""
    return jax.tree.map(np.asarray, tree)


def _as_numpy(leaf: Any) -> Any:
    is_in_memory = isinstance(leaf, jax.Array | np.ndarray) and not isinstance(leaf, np.memmap)
    return np.asarray(leaf) if is_in_memory else leaf
