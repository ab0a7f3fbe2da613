"""Richardson-Romberg extrapolation of any kernel."""

from abc import ABC
from collections.abc import Callable
from functools import partial
from typing import Any, final

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from numpyro.infer.mcmc import MCMCKernel
from numpyro.util import is_prng_key

from numpyro_sgmcmc.adaptation import Adaptation
from numpyro_sgmcmc.checks import check_instance
from numpyro_sgmcmc.kernels.base import AbstractKernel
from numpyro_sgmcmc.kernels.sghmc import SGHMC
from numpyro_sgmcmc.kernels.sgld import SGLD
from numpyro_sgmcmc.kernels.state import RichardsonRombergState
from numpyro_sgmcmc.kernels.stepper import Stepper
from numpyro_sgmcmc.potential import Structure
from numpyro_sgmcmc.transition import Walker


class AbstractRichardsonRomberg(MCMCKernel, ABC):
    """Two walkers of one kernel on the same Brownian path, at steps h and h / 2."""

    @property
    def sample_field(self) -> str:
        """The field of the state that holds the draws."""
        return "z"

    def __init__(self, kernel: AbstractKernel) -> None:
        self.kernel = check_instance("kernel", kernel, AbstractKernel, "SGLD(model, step_size)")

    @property
    def model(self) -> Callable:
        """The NumPyro model."""
        return self.kernel.model

    @property
    def structure(self) -> Structure:
        """The model's structure, known once `init` has run."""
        return self.kernel.structure

    @property
    def adaptation(self) -> Adaptation | None:
        """What was chosen and why; None before a run, or where nothing was left open."""
        return self.kernel.adaptation

    @property
    def num_steps(self) -> int:
        """Transitions of the coarse walker in one MCMC iteration."""
        return self.kernel.num_steps

    @property
    def default_fields(self) -> tuple[str, ...]:
        """Fields of the state that `MCMC` always collects."""
        return (*self.kernel.default_fields, "z_halfway", "z_coarse")

    @property
    def _sample_fn(self) -> Any:
        return self.kernel._sample_fn

    def init(
        self,
        rng_key: jax.Array,
        num_warmup: int,
        init_params: dict[str, Any] | None = None,
        model_args: tuple = (),
        model_kwargs: dict | None = None,
    ) -> RichardsonRombergState:
        """Return the first state, both walkers at the kernel's start; raises what it raises."""
        state = self.kernel.init(rng_key, num_warmup, init_params, model_args, model_kwargs)
        return RichardsonRombergState(
            *state,
            z_halfway=state.z,
            z_coarse=state.z,
            coarse_aux=state.aux,
            coarse_gradient=state.gradient,
        )

    def sample(
        self, state: RichardsonRombergState, model_args: tuple, model_kwargs: dict
    ) -> RichardsonRombergState:
        """Return the state after `num_steps` coarse transitions and twice as many fine ones."""
        advance = partial(self._advance, args=model_args, kwargs=model_kwargs)
        return advance(state) if is_prng_key(state.rng_key) else jax.vmap(advance)(state)

    def postprocess_fn(self, model_args: tuple, model_kwargs: dict) -> Callable:
        """Return the map from unconstrained values to constrained and deterministic sites."""
        return self.kernel.postprocess_fn(model_args, model_kwargs)

    def get_diagnostics_str(self, state: RichardsonRombergState) -> str:
        """Return step size and share of diverged iterations, for the progress bar."""
        return self.kernel.get_diagnostics_str(state)

    def _advance(
        self, state: RichardsonRombergState, args: tuple, kwargs: dict
    ) -> RichardsonRombergState:
        stepper = self.kernel.stepper(args, kwargs, state.tuned)
        fine = Walker(ravel_pytree(state.z)[0], state.aux, state.gradient)
        coarse = Walker(ravel_pytree(state.z_coarse)[0], state.coarse_aux, state.coarse_gradient)
        state = state._replace(weight=jnp.zeros_like(state.weight), diverging=jnp.zeros((), bool))
        body = partial(self._transition, stepper)
        start = (coarse, fine, ravel_pytree(state.z_halfway)[0])
        carry = (state, *start)
        if self.num_steps == 1:
            carry = body(0, carry)
        else:
            carry = jax.lax.fori_loop(0, self.num_steps, body, carry)
        unravel, sound = self.structure.unravel, jnp.ones((), bool)
        for walker in (carry[1].position, carry[2].position, carry[3]):
            sound &= self.structure.can_be_constrained(unravel(walker), args, kwargs)
        walkers = jax.tree.map(lambda new, old: jnp.where(sound, new, old), carry[1:], start)
        coarse, fine, halfway = walkers
        state = carry[0]._replace(diverging=carry[0].diverging | ~sound)
        return state._replace(
            i=state.i + 1,
            z=unravel(fine.position),
            z_halfway=unravel(halfway),
            z_coarse=unravel(coarse.position),
            aux=fine.aux,
            gradient=fine.gradient,
            coarse_aux=coarse.aux,
            coarse_gradient=coarse.gradient,
            num_diverging=state.num_diverging + state.diverging.astype(jnp.int32),
        )

    def _transition(
        self,
        stepper: Stepper,
        s: Any,
        carry: tuple[RichardsonRombergState, Walker, Walker, jax.Array],
    ) -> tuple[RichardsonRombergState, Walker, Walker, jax.Array]:
        state, coarse, fine, halfway = carry
        count = state.i * self.num_steps + s
        key, *keys = jax.random.split(state.rng_key, 6)
        h = jnp.asarray(stepper.step_size(count), fine.position.dtype)
        scheme = state.minibatch
        batches = []
        for n, key_batch in enumerate(keys[:3]):
            batch, scheme = stepper.minibatch(key_batch, 3 * count + n, scheme)
            batches.append(batch)
        first, second = (stepper.increment(k, fine.position, h / 2) for k in keys[3:])
        to_coarse = stepper.step(coarse, batches[0], first + second, h)
        to_half = stepper.step(fine, batches[1], first, h / 2)
        to_fine = stepper.step(to_half.walker, batches[2], second, h / 2)
        diverging = to_coarse.diverging | to_half.diverging | to_fine.diverging
        # One refused step keeps all three where they were, or the two clocks would part.
        new = (to_coarse.walker, to_fine.walker, to_half.walker.position)
        old = (coarse, fine, halfway)
        coarse, fine, halfway = jax.tree.map(lambda a, b: jnp.where(diverging, b, a), new, old)
        # papers/003, equation 6: the draws of step k count with the step size of step k + 1.
        weight = jnp.asarray(stepper.step_size(count + 1), state.weight.dtype)
        state = state._replace(
            rng_key=key,
            step_size=h.astype(state.step_size.dtype),
            weight=state.weight + weight,
            potential_energy=to_fine.potential_energy.astype(state.potential_energy.dtype),
            diverging=state.diverging | diverging,
            minibatch=scheme,
        )
        return state, coarse, fine, halfway


@final
class RichardsonRomberg(AbstractRichardsonRomberg):
    """Richardson-Romberg extrapolation of a kernel (papers/003).

    A coarse walker takes steps h, a fine walker two steps h / 2 each, started at the same point;
    the coarse increment is the sum of the two fine ones (papers/003, equation 7), the minibatches
    are independent and of one size. `expectation` extrapolates: f_fine(first) + f_fine(second) -
    f_coarse, weighted by step size (equation 6), which cancels the error of first order in h,
    discretisation and gradient noise alike. `mcmc.get_samples()` are the fine walker's second
    points and keep their own bias.

    Args:
        kernel: any kernel of this package, such as `SGLDFP(model, step_size)`. Its `num_steps`
            counts coarse steps.

    Raises:
        TypeError: where `kernel` is not one.
    """


@final
class SGRRLD(AbstractRichardsonRomberg):
    """Stochastic gradient Richardson-Romberg Langevin dynamics (papers/003, equations 4 to 7).

    `RichardsonRomberg(SGLD(model, step_size, ...))`; the paper's gamma is h. Second order in h.

    Args:
        model: a NumPyro model.
        step_size: h > 0 of the coarse walker, a function of the count, or None to choose.
        **options: as for `SGLD`.

    Raises:
        TypeError: where an argument is of a wrong type.
        ValueError: where a number is negative, zero or not finite.
    """

    def __init__(
        self,
        model: Callable,
        step_size: float | Callable[[Any], Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(SGLD(model, step_size, **options))


@final
class SGRRHMC(AbstractRichardsonRomberg):
    """Richardson-Romberg extrapolation of SGHMC with Euler steps (papers/003, section 5.1).

    `RichardsonRomberg(SGHMC(model, step_size, ...))`. Second order in h.

    Args:
        model: a NumPyro model.
        step_size: h > 0 of the coarse walker, a function of the count, or None to choose.
        **options: as for `SGHMC`, `friction` included.

    Raises:
        TypeError: where an argument is of a wrong type.
        ValueError: where a number is negative, zero or not finite.
    """

    def __init__(
        self,
        model: Callable,
        step_size: float | Callable[[Any], Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(SGHMC(model, step_size, **options))
