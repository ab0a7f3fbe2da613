"""The base class of all kernels with one walker."""

from abc import ABC
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any, Literal, Self

import jax
from numpyro.infer import init_to_uniform

from numpyro_sgmcmc.checks import check_callable, check_count, check_number
from numpyro_sgmcmc.dynamics import AbstractDynamics
from numpyro_sgmcmc.gradient import AbstractGradient
from numpyro_sgmcmc.kernels.iteration import Iteration, fixed, repeated
from numpyro_sgmcmc.kernels.memory import Memory, memory_of
from numpyro_sgmcmc.kernels.options import as_schedule, checked_options
from numpyro_sgmcmc.kernels.protocol import NumPyroKernel
from numpyro_sgmcmc.kernels.renewal import renewed
from numpyro_sgmcmc.kernels.stepping import stepper_of
from numpyro_sgmcmc.kernels.transitions import begun, ended, taken
from numpyro_sgmcmc.minibatch import AbstractMinibatch
from numpyro_sgmcmc.model import Structure
from numpyro_sgmcmc.model.handlers import resized
from numpyro_sgmcmc.preconditioner import AbstractPreconditioner
from numpyro_sgmcmc.preparation import Options, Target
from numpyro_sgmcmc.state import SGMCMCState, gradient_state, with_gradient_state
from numpyro_sgmcmc.transition import Walker


class AbstractKernel(NumPyroKernel, ABC):
    """A NumPyro kernel made of dynamics, gradient, minibatch scheme, preconditioner and step size.

    Args:
        model: a NumPyro model. The kernel draws new rows for its plates with a `subsample_size` at
            every transition. Without such a plate the gradient is exact.
        dynamics: discretised diffusion, which turns gradient and noise into a displacement.
        step_size: h > 0, or a function of the transition count (0, 1, ...; the warm-up counts);
            nothing is adapted then. None lets the warm-up choose the preconditioner, the friction
            and h (see `Adaptation`), and the gradient estimator if `gradient` is None.
        gradient: gradient estimator. None is `Plain()` if `step_size` is given.
        temperature: T, which multiplies the variance of the injected noise. 0 optimises.
        minibatch: scheme that draws the rows of a minibatch. None is `UniformMinibatch()`; a
            warm-up that chooses the step size may choose `ReshuffledMinibatch()` instead.
        preconditioner: linear change of coordinates. None is the identity if `step_size` is given.
        noise_correction: "diagonal" or "dense" reduces the injected noise by the measured gradient
            noise (see `correction`). None does so only if `step_size` is None and gradient noise
            would limit the step size. False never does.
        increments: "normal", or "binomial" for centred counts of 16 random bits, which cost less
            and leave covariances as they are. None is "binomial" for Langevin dynamics with a
            constant preconditioner in 65,536 or more dimensions on a CPU, and "normal" otherwise.
        num_steps: number of transitions in one MCMC iteration. Only the last one is kept. None is 1
            if `step_size` is given; otherwise the warm-up chooses a number at which a draw is worth
            at least 0.3 independent ones.
        max_num_steps: the largest number that the warm-up may choose. It is not used if `num_steps`
            is given.
        init_strategy: NumPyro's strategy for the starting point of the chains, or of the search for
            a mode.
        latent_move: move of those discrete latents in the subsampled plate that a chain keeps for
            all rows: "gibbs", or a function `move(rng_key, gibbs_sites, hmc_sites, rows)`. Its
            first three arguments are those of NumPyro's `HMCGibbs`; `rows` holds the row indices.
            None sums discrete latents out where that is possible, and uses "gibbs" elsewhere.
        recentre: whether a warm-up that chooses everything may move effects of hierarchies, latents
            of rows among them, in coordinates between the centred and the non-centred form. Draws
            are those of the model's own sites either way.

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: if a number is negative, zero or not finite, or if two options exclude each
            other.
    """

    levels = 1

    def __init__(
        self,
        model: Callable,
        dynamics: AbstractDynamics,
        step_size: float | Callable[[Any], Any] | None = None,
        *,
        gradient: AbstractGradient | None = None,
        temperature: float = 1.0,
        minibatch: AbstractMinibatch | None = None,
        preconditioner: AbstractPreconditioner | None = None,
        noise_correction: Literal["diagonal", "dense", False] | None = None,
        increments: Literal["normal", "binomial"] | None = None,
        num_steps: int | None = None,
        max_num_steps: int = 1_024,
        init_strategy: Callable = init_to_uniform,
        latent_move: Callable | Literal["gibbs"] | None = None,
        recentre: bool = True,
    ) -> None:
        self.model = check_callable("model", model, "a NumPyro model, a function")
        self._options = checked_options(
            dynamics=dynamics,
            step_size=step_size,
            gradient=gradient,
            temperature=temperature,
            minibatch=minibatch,
            preconditioner=preconditioner,
            noise_correction=noise_correction,
            increments=increments,
            num_steps=num_steps,
            max_num_steps=max_num_steps,
            init_strategy=init_strategy,
            latent_move=latent_move,
            recentre=recentre,
        )

    @property
    def options(self) -> Options:
        """The user's choices."""
        return self._options

    @property
    def memory(self) -> Memory:
        """What this kernel's runs computed for their data."""
        return memory_of(self)

    @property
    def default_fields(self) -> tuple[str, ...]:
        """Fields of the state that `MCMC` always collects."""
        varying = () if self._options.has_constant_step_size else ("step_size", "weight")
        varies = self._options.dynamics.has_kinetic_temperature
        moving = ("kinetic_temperature",) if varies else ()
        return (self.sample_field, "potential_energy", "diverging", *varying, *moving)

    def with_numbers(
        self,
        step_size: float,
        sizes: dict[str, int] | None = None,
        friction: float | None = None,
    ) -> Self:
        """Return a copy of this kernel with another step size, minibatch size or friction.

        The copy takes one transition in an iteration unless this kernel was given a number.

        Args:
            step_size: h.
            sizes: minibatch sizes by plate name. None keeps the sizes of the model.
            friction: D, for dynamics that were created without a friction.

        Raises:
            TypeError: if a size is not an integer.
            ValueError: if a number is negative, zero or not finite, or a friction is given to
                dynamics that already have one. On `init`, if the model has no plate of that name or
                the plate has fewer rows.
        """
        options, new = self._options, copy(self)
        dynamics = options.dynamics
        if friction is not None:
            check_number("friction", friction)
            if not dynamics.needs_friction:
                raise ValueError(
                    f"Expected dynamics without a given friction; got {dynamics!r} and"
                    f" friction={friction!r}. Leave `friction` out."
                )
            dynamics = dynamics.with_friction(friction)
        new._options = replace(
            options,
            dynamics=dynamics,
            step_size=as_schedule(step_size),
            has_constant_step_size=True,
            num_steps=options.num_steps or 1,
        )
        if sizes:
            counts = {n: check_count(f"sizes[{n!r}]", count) for n, count in sizes.items()}
            new.model = resized(new.model, counts)
        return new

    def _first(self, state: SGMCMCState, target: Target) -> Any:
        return state

    def _renewed(
        self, state: SGMCMCState, structure: Structure, args: tuple, kwargs: dict
    ) -> SGMCMCState:
        given = self._options, structure, args, kwargs
        return state._replace(gradient=renewed(*given, state, state.gradient, state.z))

    def _advance(
        self,
        state: Any,
        structure: Structure,
        args: tuple,
        kwargs: dict,
        chosen: Iteration | None,
    ) -> Any:
        options = self._options
        stepper = stepper_of(options, structure, args, kwargs, state.tuned)
        position = structure.ravel(state.z)
        walker = start = Walker(position, state.aux, gradient_state(state), state.preconditioner)
        state = begun(state)
        before, steps = chosen or fixed(options, state.i)

        def body(s: jax.Array, carry: tuple[Any, Walker]) -> tuple[Any, Walker]:
            return taken(stepper, before + s, *carry)

        state, walker = repeated(steps, body, (state, walker))
        state, walker = ended(options, structure, args, kwargs, state, walker, start, steps)
        return with_gradient_state(state, walker.gradient)
