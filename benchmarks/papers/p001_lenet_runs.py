"""Training of LeNet for a given time: our kernels, SGD with momentum, variational inference."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.infer import SVI, Trace_ELBO, init_to_value
from numpyro.infer.autoguide import AutoNormal
from optax import adam, cosine_decay_schedule

from benchmarks.clock import now
from benchmarks.papers import p001_lenet as lenet
from numpyro_sgmcmc import SGHMC, SGLD, SGHMCSplit, cyclical

BATCH, MOMENTUM = 64, 0.9
"""Caffe's defaults for LeNet: the minibatch and 1 - D h."""
CYCLES = 4
GUIDE_SCALE = 0.01
"""Standard deviations of the variational approximation before its optimisation."""


class Setting(NamedTuple):
    """What is chosen for a method.

    Attributes:
        rate: of a step on the mean loss: h^2 N with momentum, h N without, Adam's own.
        temperature: of the posterior.
        decay: of the rate of SGD: "cosine" to zero, or "caffe" for (1 + 10^-4 t)^-0.75.
    """

    rate: float
    temperature: float = 1.0
    decay: str = "cosine"


class Trainer(NamedTuple):
    """A way to train.

    Attributes:
        state: the first one.
        move: returns the state after so many more steps, compiled.
        weights: returns flat weights (m, d) of a state, of which there is one, or many at random.
    """

    state: Any
    move: Callable[[Any, Any], Any]
    weights: Callable[[Any], jax.Array]


class Course(NamedTuple):
    """Training at equal distances of time.

    Attributes:
        seconds: of processors since the start, without compilation, (records,).
        steps: in all.
        weights: (records, m, d).
    """

    seconds: np.ndarray
    steps: int
    weights: np.ndarray


def kernel_of(method: str, setting: Setting, images: int, total: int) -> Any:
    """Return the kernel of a method: "SGHMC-S", "SGHMC", "cyclical" or "SGLD"."""
    model = partial(lenet.model, batch=BATCH)
    if method == "SGLD":
        return SGLD(model, setting.rate / images, temperature=setting.temperature)
    h = float(np.sqrt(setting.rate / images))
    friction = (1 - MOMENTUM) / h
    kernel = SGHMC if method == "SGHMC" else SGHMCSplit
    step_size: Any = cyclical(h, -(-total // CYCLES)) if method == "cyclical" else h
    return kernel(model, step_size, friction=friction, temperature=setting.temperature)


def sampler(
    method: str, setting: Setting, data: lenet.Labelled, total: int, seed: int, chains: int = 1
) -> Trainer:
    """Return a kernel's chains from Caffe's random weights."""
    kernel = kernel_of(method, setting, len(data.x), total)
    first = jnp.stack([lenet.start(seed + chain) for chain in range(chains)])
    keys = jax.random.split(jax.random.key(seed), chains)
    state = kernel.init(keys, 0, {"theta": first}, tuple(data), {})

    @jax.jit
    def several(state: Any, count: Any, args: tuple) -> Any:
        return jax.lax.fori_loop(0, count, lambda _, s: kernel.sample(s, args, {}), state)

    return Trainer(state, lambda s, n: several(s, n, tuple(data)), lambda s: s.z["theta"])


def descent(setting: Setting, data: lenet.Labelled, total: int, seed: int) -> Trainer:
    """Return SGD with momentum on the mean of U over the images, from Caffe's random weights."""

    def rate(count: Any) -> Any:
        if setting.decay == "caffe":
            return setting.rate * (1 + 1e-4 * count) ** -0.75
        return setting.rate * (1 + jnp.cos(jnp.pi * jnp.minimum(count / total, 1))) / 2

    @jax.jit
    def several(state: tuple, count: Any, data: lenet.Labelled) -> tuple:
        images = len(data.x)

        def one(_: Any, state: tuple) -> tuple:
            theta, momentum, key, t = state
            key, key_rows = jax.random.split(key)
            rows = jax.random.randint(key_rows, (BATCH,), 0, images)
            slope = jax.grad(lenet.energy)(theta, data.x[rows], data.y[rows], BATCH / images)
            momentum = MOMENTUM * momentum - rate(t) * slope / images
            return theta + momentum, momentum, key, t + 1

        return jax.lax.fori_loop(0, count, one, state)

    first = lenet.start(seed)
    state = (first, jnp.zeros_like(first), jax.random.key(seed), jnp.zeros(()))
    return Trainer(state, lambda s, n: several(s, n, data), lambda s: s[0][None])


def variational(
    setting: Setting, data: lenet.Labelled, total: int, seed: int, draws: int
) -> Trainer:
    """Return a mean-field normal approximation, fitted by Adam, and draws of it."""
    model = partial(lenet.model, batch=BATCH)
    begin = init_to_value(values={"theta": lenet.start(seed)})
    guide = AutoNormal(model, init_loc_fn=begin, init_scale=GUIDE_SCALE)
    svi = SVI(model, guide, adam(cosine_decay_schedule(setting.rate, total)), Trace_ELBO())
    state = svi.init(jax.random.key(seed), *data)

    @jax.jit
    def several(state: Any, count: Any, data: lenet.Labelled) -> Any:
        return jax.lax.fori_loop(0, count, lambda _, s: svi.update(s, *data)[0], state)

    def weights(state: Any) -> jax.Array:
        found = svi.get_params(state)
        normal = jax.random.normal(jax.random.key(seed + 1), (draws, lenet.SIZE))
        return found["theta_auto_loc"] + found["theta_auto_scale"] * normal

    return Trainer(state, lambda s, n: several(s, n, data), weights)


def pace(make: Callable[[int], Trainer], steps: int = 40) -> float:
    """Return seconds of a step."""
    trainer = make(1_000)
    jax.block_until_ready(trainer.move(trainer.state, 1))  # compiles
    begin = now()
    jax.block_until_ready(trainer.move(trainer.state, steps))
    return (now() - begin) / steps


def trained(
    make: Callable[[int], Trainer], steps: int, records: int, cost: float | None = None
) -> Course:
    """Return the course of a training of nearly so many steps.

    Args:
        make: returns the trainer by its number of steps.
        steps: in all.
        records: states that are kept.
        cost: of a step in seconds, if others compute at the same time; None to measure.
    """
    each = max(steps // records, 1)
    trainer = make(each * records)
    state = trainer.state
    jax.block_until_ready(trainer.move(state, 0))  # compiles
    spent, seconds, weights = 0.0, [], []
    for _ in range(records):
        begin = now()
        state = jax.block_until_ready(trainer.move(state, each))
        spent += now() - begin if cost is None else cost * each
        seconds.append(spent)
        weights.append(np.asarray(trainer.weights(state)))
    return Course(np.array(seconds), each * records, np.stack(weights))
