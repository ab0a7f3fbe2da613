"""Many chains at many step sizes in one compiled program, straight through `kernel.sample`."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np


class Dial:
    """A step size a (1 + l)^-alpha whose a and alpha are inputs of the compiled run.

    One program then serves every step size: compiling costs more than most of the runs.
    """

    def __init__(self, scale: float) -> None:
        self.scale: Any = scale
        self.exponent: Any = 0.0

    def __call__(self, count: Any) -> Any:
        return self.scale * (1.0 + count) ** -self.exponent


class Runs(NamedTuple):
    """Runs at G step sizes: block means of a statistic, each block's weight, its last position.

    Attributes:
        values: (G, chains, blocks, k), means weighted by step size.
        weights: (G, chains, blocks), simulated time.
        positions: (G, chains, blocks, d).
        state: the kernel's last state, G * chains of them.
    """

    values: np.ndarray
    weights: np.ndarray
    positions: np.ndarray
    state: Any

    def mean(self) -> np.ndarray:
        """Return each chain's weighted mean, (G, chains, k)."""
        return self.running()[:, :, -1]

    def running(self) -> np.ndarray:
        """Return each chain's weighted mean up to the end of each block, as `values`."""
        total = np.cumsum(self.values * self.weights[..., None], axis=2)
        return total / np.cumsum(self.weights, axis=2)[..., None]


class Runner:
    """A kernel bound to data and a statistic of its state, compiled once for each shape of run.

    Args:
        make: from a schedule to a kernel of a model with one site, theta (d,).
        args: the model's arguments, arrays.
        statistic: from the state of one chain to an array (k,).
        scale: a step size of the right order, which `init` checks.
    """

    def __init__(
        self,
        make: Callable[[Dial], Any],
        args: tuple,
        statistic: Callable[[Any], jax.Array],
        scale: float = 1e-6,
    ) -> None:
        self.dial = Dial(scale)
        self.kernel = make(self.dial)
        self.args = args
        self._statistic = statistic
        self._run = jax.jit(self._blocks, static_argnames="blocks")

    def __call__(
        self,
        scales: Sequence[float],
        *,
        start: np.ndarray,
        burn_in: int,
        blocks: int,
        length: int,
        exponents: Sequence[float] | float = 0.0,
        seed: int = 0,
    ) -> Runs:
        """Run chains from `start`, (chains, d), at each step size, for blocks of equal length."""
        grid, chains = len(scales), len(start)
        flat = jnp.tile(jnp.asarray(start, jnp.float32), (grid, 1))
        keys = jax.random.split(jax.random.key(seed), grid * chains)
        state = self.kernel.init(keys, 0, {"theta": flat}, self.args, {})
        spread = partial(np.repeat, repeats=chains)
        dials = np.broadcast_to(np.asarray(exponents, np.float32), grid)
        a, alpha = spread(np.asarray(scales, np.float32)), spread(dials)
        state, out = self._run(state, self.args, a, alpha, burn_in, length, blocks=blocks)
        shaped = [np.asarray(x, np.float64) for x in out]
        shaped = [np.moveaxis(x, 0, 1).reshape(grid, chains, blocks, *x.shape[2:]) for x in shaped]
        return Runs(*shaped, state)

    def _blocks(
        self, state: Any, args: tuple, a: Any, alpha: Any, burn_in: Any, length: Any, *, blocks: int
    ) -> tuple[Any, tuple]:
        def one(state: Any, a: Any, alpha: Any) -> Any:
            plain = self.dial.scale, self.dial.exponent
            self.dial.scale, self.dial.exponent = a, alpha
            state = self.kernel.sample(state, args, {})
            self.dial.scale, self.dial.exponent = plain
            return state

        def step(state: Any) -> Any:
            return jax.vmap(one)(state, a, alpha)

        def measured(state: Any) -> jax.Array:
            values = jnp.append(self._statistic(state), 1.0)
            return state.weight * values

        def add(_: Any, carry: tuple) -> tuple:
            state, total, lost = carry
            state = step(state)
            return state, *_compensated(total, lost, jax.vmap(measured)(state))

        def block(state: Any, _: Any) -> tuple:
            zero = jnp.zeros_like(jax.vmap(measured)(state))
            state, total, _ = jax.lax.fori_loop(0, length, add, (state, zero, zero))
            time = total[:, -1]
            return state, (total[:, :-1] / time[:, None], time, state.z["theta"])

        state = jax.lax.fori_loop(0, burn_in, lambda _, s: step(s), state)
        return jax.lax.scan(block, state, None, length=blocks)


def _compensated(
    total: jax.Array, lost: jax.Array, value: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Add by Kahan's rule: 10^5 equal step sizes in single precision lose 10^-3 of their sum."""
    value = value - lost
    new = total + value
    return new, (new - total) - value
