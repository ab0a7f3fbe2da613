"""Richardson-Romberg extrapolation of any kernel."""

from abc import ABC
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, final

import jax
import jax.numpy as jnp
from numpyro.util import is_prng_key

from numpyro_sgmcmc.checks import check_instance
from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.kernels.base import AbstractKernel
from numpyro_sgmcmc.kernels.extrapolation import walker_coefficients
from numpyro_sgmcmc.kernels.iteration import Iteration, fixed, repeated
from numpyro_sgmcmc.kernels.memory import Memory
from numpyro_sgmcmc.kernels.protocol import NumPyroKernel
from numpyro_sgmcmc.kernels.renewal import renewed
from numpyro_sgmcmc.kernels.stepping import stepper_of
from numpyro_sgmcmc.model import Structure
from numpyro_sgmcmc.preparation import Options, Target, View
from numpyro_sgmcmc.state import (
    Companion,
    RichardsonRombergState,
    SGMCMCState,
    with_new_key,
    with_own_key,
)
from numpyro_sgmcmc.stepper import Stepper
from numpyro_sgmcmc.transition import Walker, keep_if


class Level(NamedTuple):
    """A walker at its step size, and the state of its own minibatch scheme."""

    walker: Walker
    minibatch: Any


class AbstractRichardsonRomberg(NumPyroKernel, ABC):
    """Walkers of one kernel on the same Brownian path, at steps h, h / 2 and perhaps h / 4."""

    def __init__(self, kernel: AbstractKernel, levels: int = 2) -> None:
        self.kernel = check_instance("kernel", kernel, AbstractKernel, "SGLD(model, step_size)")
        if kernel.options.staleness is not None:
            raise TypeError(
                "Expected a kernel with fresh gradients; got a StaleGradient, whose ages are"
                " different times at different step sizes. Use StaleGradient alone, with a remedy."
            )
        if levels not in (2, 3):
            raise ValueError(
                f"Expected `levels` to be 2 (steps h and h / 2) or 3 (h, h / 2 and h / 4); got"
                f" {levels!r}. Use one of the two."
            )
        self.levels = levels

    @property
    def model(self) -> Callable:
        """The NumPyro model."""
        return self.kernel.model

    @property
    def options(self) -> Options:
        """The user's choices for each walker.

        What the user left open is chosen so that the coefficients of an extrapolation are right:
        independent minibatches, and normal increments. All walkers share the fourth cumulant of
        one path of binomial increments, so that an extrapolation keeps the bias that it causes.
        Effects move as the model has them.
        """
        options = self.kernel.options
        increments = options.increments or "normal"
        return replace(options, has_open_minibatch=False, increments=increments, recentre=False)

    @property
    def memory(self) -> Memory:
        """What runs of this kernel, or of the extrapolated one, computed for their data."""
        return self.kernel.memory

    def coefficients(self, structure: Structure) -> tuple[float, ...]:
        """Return each walker's coefficient in an estimate, the finest first."""
        has_gradient_noise = bool(structure.plates) or structure.is_random
        powers = (1, 2) if has_gradient_noise else self.options.dynamics.bias_powers
        return walker_coefficients(self.levels, powers)

    @property
    def default_fields(self) -> tuple[str, ...]:
        """Fields of the state that `MCMC` always collects."""
        middle = ("z_middle",) if self.levels == 3 else ()
        return (*self.kernel.default_fields, "z_halfway", "z_coarse", *middle)

    def _first(self, state: SGMCMCState, target: Target) -> RichardsonRombergState:
        # Each walker draws its own minibatches and has its own epochs.
        split = partial(jax.random.split, num=self.levels)
        split = split if is_prng_key(state.rng_key) else jax.vmap(split, out_axes=1)
        keys = split(state.rng_key)
        companions = []
        for key in keys[1:]:
            scheme = target.run(_scheme_state, key, optimise=False)
            companions.append(Companion(state.aux, state.gradient, state.preconditioner, scheme))
        first = RichardsonRombergState(
            **with_own_key(state._replace(rng_key=keys[0]))._asdict(),
            z_halfway=state.z,
            z_coarse=state.z,
            coarse=companions[0],
        )
        return first if self.levels == 2 else first._replace(z_middle=state.z, middle=companions[1])

    def _renewed(
        self, state: RichardsonRombergState, structure: Structure, args: tuple, kwargs: dict
    ) -> RichardsonRombergState:
        renew = partial(renewed, self.options, structure, args, kwargs, state)
        coarse = state.coarse._replace(gradient=renew(state.coarse.gradient, state.z_coarse))
        state = state._replace(gradient=renew(state.gradient, state.z), coarse=coarse)
        if state.middle is None or state.z_middle is None:
            return state
        gradient = renew(state.middle.gradient, state.z_middle)
        return state._replace(middle=state.middle._replace(gradient=gradient))

    def _advance(
        self,
        state: RichardsonRombergState,
        structure: Structure,
        args: tuple,
        kwargs: dict,
        chosen: Iteration | None,
    ) -> RichardsonRombergState:
        stepper = stepper_of(self.options, structure, args, kwargs, state.tuned)
        state = with_new_key(state)
        state = state._replace(weight=jnp.zeros_like(state.weight), diverging=jnp.zeros((), bool))
        before, steps = chosen or fixed(self.options, state.i)
        body = partial(self._transition, stepper, before)
        ravel, unravel = structure.ravel, structure.unravel
        start = (_unpack(state, ravel), ravel(state.z_halfway))
        state, levels, halfway = repeated(steps, body, (state, *start))
        sound = jnp.ones((), bool)
        for position in (halfway, *(level.walker.position for level in levels)):
            sound &= structure.can_be_constrained(unravel(position), args, kwargs)
        walkers = [
            keep_if(sound, new.walker, old.walker)
            for new, old in zip(levels, start[0], strict=True)
        ]
        halfway = jnp.where(sound, halfway, start[1])
        diverging = state.diverging | ~sound
        levels = [Level(w, old.minibatch) for w, old in zip(walkers, levels, strict=True)]
        state = _pack(state, levels, unravel)
        return with_own_key(
            state._replace(
                i=state.i + 1,
                z_halfway=unravel(halfway),
                diverging=diverging,
                num_diverging=state.num_diverging + diverging.astype(jnp.int32),
                kinetic_temperature=self.options.dynamics.kinetic_temperature(state.aux),
            )
        )

    def _transition(
        self,
        stepper: Stepper,
        before: jax.Array,
        s: Any,
        carry: tuple[RichardsonRombergState, list[Level], jax.Array],
    ) -> tuple[RichardsonRombergState, list[Level], jax.Array]:
        state, levels, halfway = carry
        count = before + s
        finest = 2 ** (self.levels - 1)
        key, *keys = random.split(state.rng_key, 3 * finest)
        position = levels[-1].walker.position
        h = jnp.asarray(stepper.step_size(count), position.dtype)
        # Keys of 1 + 2 + ... + finest minibatches, then of the finest walker's increments. Sums of
        # these are the increments of the other walkers.
        batch_keys, path_keys = keys[: 2 * finest - 1], keys[2 * finest - 1 :]
        path = [stepper.increment(k, position, h / finest) for k in path_keys]
        diverging, moved, seen, new_halfway = jnp.zeros((), bool), [], 0, halfway
        for exponent, (walker, scheme) in enumerate(levels):
            steps = 2**exponent
            width = finest // steps
            for n in range(steps):
                batch, scheme = stepper.minibatch(batch_keys[seen], steps * count + n, scheme)
                increment = sum(path[n * width + 1 : (n + 1) * width], start=path[n * width])
                result = stepper.step(walker, batch, increment, h / steps)
                walker, seen = result.walker, seen + 1
                diverging |= result.diverging
                state = state._replace(potential_energy=result.potential_energy)
                if 2 * (n + 1) == finest == steps:
                    new_halfway = walker.position
            moved.append(Level(walker, scheme))
        # If one walker diverges, all walkers stay where they were, so that their times agree.
        levels = [
            Level(keep_if(~diverging, new.walker, old.walker), new.minibatch)
            for new, old in zip(moved, levels, strict=True)
        ]
        # Durmus et al. 2016, equation 6: the step size of step k + 1 weights the draws of step k.
        weight = jnp.asarray(stepper.step_size(count + 1), state.weight.dtype)
        state = state._replace(
            rng_key=key,
            step_size=h.astype(state.step_size.dtype),
            weight=state.weight + weight,
            potential_energy=state.potential_energy.astype(state.weight.dtype),
            diverging=state.diverging | diverging,
        )
        return state, levels, jnp.where(diverging, halfway, new_halfway)


def _scheme_state(view: View, key: jax.Array) -> Any:
    fresh = partial(view.scheme.init, plates=view.plates)
    return fresh(key) if is_prng_key(key) else jax.vmap(fresh)(key)


def _unpack(state: RichardsonRombergState, ravel: Callable) -> list[Level]:
    """Return the walkers, the coarsest first."""
    pairs: list[tuple[Any, Any]] = [(state.z_coarse, state.coarse), (state.z, state)]
    if state.middle is not None:
        pairs.insert(1, (state.z_middle, state.middle))
    return [
        Level(Walker(ravel(z), c.aux, c.gradient, c.preconditioner), c.minibatch) for z, c in pairs
    ]


def _pack(
    state: RichardsonRombergState, levels: list[Level], unravel: Callable
) -> RichardsonRombergState:
    """Return the state with these walkers in it."""
    coarse, *middle, fine = [
        (unravel(walker.position), Companion(*walker[1:], minibatch))
        for walker, minibatch in levels
    ]
    state = state._replace(z=fine[0], **fine[1]._asdict(), z_coarse=coarse[0], coarse=coarse[1])
    for z, companion in middle:
        state = state._replace(z_middle=z, middle=companion)
    return state


@final
class RichardsonRomberg(AbstractRichardsonRomberg):
    """Richardson-Romberg extrapolation of a kernel (Durmus et al. 2016).

    A coarse walker takes steps of size h. A fine walker takes two steps of size h / 2 for each of
    them. Both start at the same point and share a Brownian path: the coarse increment is the sum of
    the two fine ones (equation 7). Their minibatches are independent and of the same size. The
    paper's gamma is h.

    `expectation` extrapolates: it averages f_fine(first) + f_fine(second) - f_coarse, weighted by
    step size (equation 6). This cancels the error of first order in h, both of the discretisation
    and of the gradient noise. `mcmc.get_samples()` are the fine walker's second points. They are
    not extrapolated and keep their own bias.

    With `levels=3` a third walker takes four steps of size h / 4. For a bias c h + c' h^2 + ... the
    combination 8/3 f(h / 4) - 2 f(h / 2) + 1/3 f(h) cancels both terms, so the bias is of third
    order in h. It costs 7/3 as much as two levels, and its estimates have a larger variance for
    runs of the same length.

    These coefficients are those of gradient noise, whose leading error is h V / (2 D) (Langevin:
    h V / 2) whatever the dynamics. Where gradients are exact, because the model has no subsampled
    plate and its density is not random, they follow the dynamics' own bias:

    - `Langevin`, or any dynamics with gradient noise (bias h, h^2): 2, -1, and with three
      levels 8/3, -2, 1/3;
    - `Hamiltonian`, semi-implicit Euler (bias h^2, h^3): 4/3, -1/3, and 32/21, -12/21, 1/21;
    - `Splitting`, `ExactFriction` and `NoseHoover` (bias h^2, h^4): 4/3, -1/3, and 64/45, -20/45,
      1/45.

    With gradient noise, 2 and -1 turn a second-order bias of c h^2 into -c h^2 / 2 at two levels.

    Args:
        kernel: a kernel of one walker with fresh gradients, such as `SGLDFP(model, step_size)`. Its
            `num_steps` counts coarse steps.
        levels: number of step sizes, 2 or 3.

    References:
        Durmus, Simsekli, Moulines, Badeau and Richard 2016, "Stochastic Gradient Richardson-Romberg
        Markov Chain Monte Carlo",
        https://papers.nips.cc/paper/2016/hash/03f544613917945245041ea1581df0c2-Abstract.html

    Raises:
        TypeError: if `kernel` is not such a kernel: another extrapolation, `ReplicaExchange` and
            `StaleGradient` are refused.
        ValueError: if `levels` is neither 2 nor 3.
    """
