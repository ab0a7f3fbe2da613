"""The NumPyro kernel that all stochastic-gradient samplers share."""

from abc import ABC
from collections.abc import Callable
from copy import copy
from functools import partial
from time import perf_counter
from typing import Any, Literal, Self

import jax
import jax.numpy as jnp
from numpyro.infer import init_to_uniform
from numpyro.infer.mcmc import MCMCKernel
from numpyro.util import is_prng_key

from numpyro_sgmcmc.checks import check_callable, check_count, check_instance, check_number
from numpyro_sgmcmc.cpu import threefry
from numpyro_sgmcmc.cpu.slices import by_slices
from numpyro_sgmcmc.dynamics import AbstractDynamics
from numpyro_sgmcmc.gradient import AbstractGradient
from numpyro_sgmcmc.kernels.chains import over_chains
from numpyro_sgmcmc.kernels.constants import warn_about_constants
from numpyro_sgmcmc.kernels.first import FirstStates
from numpyro_sgmcmc.kernels.keys import noticed, settled
from numpyro_sgmcmc.kernels.options import as_schedule, check_correction, check_fits, tuned_or
from numpyro_sgmcmc.kernels.prepare import Choices, Prepared, prepare
from numpyro_sgmcmc.kernels.progress import Progress
from numpyro_sgmcmc.kernels.renewal import renewed
from numpyro_sgmcmc.kernels.start import check_params, check_starts, checked_start
from numpyro_sgmcmc.kernels.state import SGMCMCState
from numpyro_sgmcmc.kernels.warn import warn_about_dropped_sites
from numpyro_sgmcmc.minibatch import AbstractMinibatch, UniformMinibatch
from numpyro_sgmcmc.model import (
    Structure,
    non_finite_arguments,
    read_structure,
    stochastic_potential,
)
from numpyro_sgmcmc.model.handlers import resized
from numpyro_sgmcmc.preconditioner import AbstractPreconditioner
from numpyro_sgmcmc.preparation import Adaptation, Target, Tuned, View, concretely, with_friction
from numpyro_sgmcmc.stepper import Stepper
from numpyro_sgmcmc.transition import Transition, Walker, keep_if


class AbstractKernel(MCMCKernel, ABC):
    """A NumPyro kernel made of dynamics, gradient, minibatch scheme, preconditioner and step size.

    Args:
        model: a NumPyro model. Its plates with a `subsample_size` are drawn anew at every
            transition; without any, the gradient is exact.
        dynamics: how gradient and noise become a displacement.
        step_size: h, a float or a function of the transition count (0, 1, ...; warm-up counts):
            then nothing is adapted. None chooses preconditioner, friction and h (see `Adaptation`)
            and, where `gradient` is None too, the gradient of least noise.
        gradient: gradient estimator; None is `Plain()` where `step_size` is given.
        temperature: T, multiplies the variance of the noise; 0 is optimisation.
        minibatch: minibatch scheme; None is `UniformMinibatch()`.
        preconditioner: a constant linear map; None is the identity where `step_size` is given.
        noise_correction: "diagonal" or "dense" takes the measured gradient noise out of the
            injected noise (see `correction`); None does so where `step_size` is None and noise
            would limit it; False never does.
        num_steps: transitions in one MCMC iteration (thinning without storing).
        init_strategy: NumPyro's, for the start of a chain or of the search for a mode.

    Raises:
        TypeError: where an argument is of a wrong type.
        ValueError: where a number is negative, zero or not finite.
    """

    @property
    def sample_field(self) -> str:
        """The field of the state that holds the draws."""
        return "z"

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
        num_steps: int = 1,
        init_strategy: Callable = init_to_uniform,
    ) -> None:
        self.model = check_callable("model", model, "a NumPyro model, a function")
        self._dynamics = check_instance("dynamics", dynamics, AbstractDynamics, "Langevin()")
        friction = getattr(dynamics, "friction", None)
        if friction is not None:
            check_number("friction", friction)
        self._schedule = as_schedule(step_size)
        self._constant_step_size = not callable(step_size)
        if gradient is not None:
            check_instance("gradient", gradient, AbstractGradient, "Plain() or FixedPoint()")
        self._gradient = gradient
        self._temperature = check_number("temperature", temperature, allow_zero=True)
        minibatch = UniformMinibatch() if minibatch is None else minibatch
        self._minibatch = check_instance(
            "minibatch", minibatch, AbstractMinibatch, "UniformMinibatch(replace=False)"
        )
        if preconditioner is not None:
            check_instance(
                "preconditioner", preconditioner, AbstractPreconditioner, "Diagonal(scale)"
            )
            check_fits(preconditioner, dynamics, step_size)
        self._preconditioner = preconditioner
        check_correction(noise_correction, preconditioner, minibatch, self._temperature)
        self._noise_correction = noise_correction
        self._num_steps = check_count("num_steps", num_steps)
        self._init_strategy = check_callable(
            "init_strategy", init_strategy, "a NumPyro init strategy such as init_to_median"
        )
        self._reset()

    @property
    def adaptation(self) -> Adaptation | None:
        """What was chosen and why; None before a run, or where nothing was left open."""
        return None if self._prepared is None else self._prepared.adaptation

    @property
    def structure(self) -> Structure:
        """The model's structure, known once `init` has run."""
        return self.target.structure

    @property
    def target(self) -> Target:
        """The model bound to its data, known once `init` has run."""
        if self._target is None:
            raise ValueError("Expected a kernel that has been run; call `MCMC(kernel).run` first.")
        return self._target

    @property
    def prepared(self) -> Prepared:
        """What the run started from, known once `init` has run."""
        assert self._prepared is not None
        return self._prepared

    @property
    def dynamics(self) -> AbstractDynamics:
        """The dynamics as they were chosen, perhaps without their friction."""
        return self._dynamics

    @property
    def temperature(self) -> float:
        """T."""
        return self._temperature

    @property
    def step_size(self) -> Callable[[Any], Any] | None:
        """The user's step size as a function of the transition count, None where it is open."""
        return self._schedule

    @property
    def has_constant_step_size(self) -> bool:
        """Whether the step size, if any, is a number."""
        return self._constant_step_size

    @property
    def num_steps(self) -> int:
        """Transitions in one MCMC iteration."""
        return self._num_steps

    @property
    def scheme(self) -> AbstractMinibatch:
        """The minibatch scheme."""
        return self._minibatch

    @property
    def default_fields(self) -> tuple[str, ...]:
        """Fields of the state that `MCMC` always collects."""
        varying = () if self._constant_step_size else ("step_size", "weight")
        moving = ("kinetic_temperature",) if self._dynamics.has_momentum else ()
        return (self.sample_field, "potential_energy", "diverging", *varying, *moving)

    def with_numbers(
        self,
        step_size: float,
        sizes: dict[str, int] | None = None,
        friction: float | None = None,
    ) -> Self:
        """Return a fresh kernel that differs from this one in its numbers alone.

        Args:
            step_size: h.
            sizes: rows of a minibatch by plate name; None keeps the model's own.
            friction: D, for dynamics whose friction is open.
        """
        new = copy(self)  # what pickling keeps: what the user chose, nothing made for data
        new._schedule, new._constant_step_size = as_schedule(step_size), True
        new._dynamics = with_friction(new._dynamics, friction)
        if sizes:
            new.model = resized(new.model, sizes)
        return new

    @property
    def _sample_fn(self) -> Target | None:
        # NumPyro's MCMC calls `init` again on continuing a run unless this attribute is set.
        return self._target

    def init(
        self,
        rng_key: jax.Array,
        num_warmup: int,
        init_params: dict[str, Any] | None = None,
        model_args: tuple = (),
        model_kwargs: dict | None = None,
    ) -> SGMCMCState:
        """Prepare the kernel for a model's arguments and return the first state of each chain.

        The search for a mode and the tuning use fixed keys: they depend on model and data alone,
        are done once for all chains, and are the same for every `chain_method`.

        Raises:
            TypeError: where arguments of the model are missing, or `init_params` is no dict.
            ValueError: where the model, the data, `init_params` or the start cannot be sampled.
        """
        began = perf_counter()
        kwargs = {} if model_kwargs is None else model_kwargs
        target = self._bind_target(model_args, kwargs)
        self.began.append(began)
        structure = target.structure
        single = is_prng_key(rng_key)
        if init_params is not None:
            check_params(structure, init_params, "init_params", () if single else rng_key.shape[:1])
        bad_arguments = non_finite_arguments(model_args, kwargs)
        foresee = lambda gradient, *shapes: self._first_states(gradient, single).ahead(  # noqa: E731
            target, rng_key, init_params, *shapes
        )
        prepared = self._prepare(target, init_params, single, num_warmup, bad_arguments, foresee)
        first = self._first_states(prepared.gradient, single)
        start = prepared.anchor, prepared.tuned, prepared.believed
        state, finite = first.run(target, *start, rng_key, init_params)
        if structure.dimension:
            check_starts(target, state.z, finite, bad_arguments)
        return state

    def sample(self, state: SGMCMCState, model_args: tuple, model_kwargs: dict) -> SGMCMCState:
        """Return the state after one MCMC iteration of `num_steps` transitions."""
        state = state._replace(
            gradient=self.renewed(state.gradient, state.z, state, model_args, model_kwargs)
        )
        advance = partial(self._advance, args=model_args, kwargs=model_kwargs)
        return over_chains(advance, state, self._minibatch)

    def postprocess_fn(self, model_args: tuple, model_kwargs: dict) -> Callable:
        """Return the map from unconstrained values to constrained and deterministic sites."""
        return partial(self.structure.constrain, args=model_args, kwargs=model_kwargs)

    def get_diagnostics_str(self, state: SGMCMCState) -> str:
        """Return step size and share of diverged iterations, for the progress bar."""
        return self._progress.words(state)

    def stepper(self, args: tuple, kwargs: dict, tuned: Tuned) -> Stepper:
        """Return what one transition needs, for these arguments and tuned numbers."""
        warn_about_constants(args, kwargs)
        structure = self.structure
        dynamics = with_friction(self._dynamics, tuned.friction)
        gradient = self.prepared.gradient
        potential = stochastic_potential(structure, args, kwargs)
        return Stepper(
            potential=by_slices(potential) if self._minibatch.is_contiguous else potential,
            transition=Transition(dynamics, gradient, tuned.preconditioner, tuned.correction),
            scheme=self._minibatch,
            plates=structure.plates,
            is_random=structure.is_random,
            temperature=self._temperature,
            step_size=tuned_or(self._schedule, tuned.step_size),
        )

    def renewed(
        self, gradient_state: Any, z: dict[str, jax.Array], state: Any, args: tuple, kwargs: dict
    ) -> Any:
        """Return a walker's gradient state, renewed at `z` where its period is over.

        Outside the `vmap` over chains, which would take a pass over the data at every step.
        """
        view = View(self.structure, self._minibatch, args, kwargs)
        is_batched = not is_prng_key(state.rng_key)
        count = state.i[0] if is_batched else state.i
        gradient = self.prepared.gradient
        return renewed(gradient, view, gradient_state, z, count, self._num_steps, is_batched)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle what the user chose; what was compiled for data is made again by `init`."""
        fresh = {"_target": None, "_prepared": None, "_key_of_target": None, "began": []}
        return self.__dict__ | fresh | {"_progress": Progress()}

    def _reset(self) -> None:
        self.began: list[float] = []  # times, by `perf_counter`, at which `init` was called
        self._progress = Progress()
        self._target: Target | None = None
        self._prepared: Prepared | None = None
        self._key_of_target: Any = None

    def _bind_target(self, args: tuple, kwargs: dict) -> Target:
        leaves, tree = jax.tree.flatten((args, kwargs))
        key = (tree, [id(leaf) for leaf in leaves])
        if self._target is None or self._key_of_target != key:
            last = self._target
            self._reset()
            structure = read_structure(self.model, args, kwargs)
            warn_about_dropped_sites(structure)
            self._target = Target(structure, self._minibatch, args, kwargs).or_kept(last)
            self._key_of_target = key
        return self._target

    def _prepare(
        self,
        target: Target,
        init_params: Any,
        single: bool,
        num_warmup: int,
        bad_arguments: list[str],
        foresee: Callable,
    ) -> Prepared:
        if self._prepared is not None and init_params is None:
            return self._prepared
        transitions = self._num_steps * num_warmup
        iterations = max(transitions / 10, 50 * self._num_steps)
        gradient = self._gradient if self._prepared is None else self._prepared.gradient
        choices = Choices(
            self._dynamics,
            gradient,
            self._schedule,
            self._preconditioner,
            self._temperature,
            self._noise_correction,
        )

        given = (self._init_strategy, init_params, single, bad_arguments)
        start = lambda key: checked_start(target, key, *given)  # noqa: E731
        with concretely():
            key = jax.random.key(0)
            self._prepared = prepare(target, key, start, choices, transitions, iterations, foresee)
        return self._prepared

    def _first_states(self, gradient: AbstractGradient, single: bool) -> FirstStates:
        return FirstStates(
            self._dynamics,
            gradient,
            self._minibatch,
            self._init_strategy,
            self._schedule,
            self._temperature,
            single,
        )

    def _advance(self, state: SGMCMCState, args: tuple, kwargs: dict) -> SGMCMCState:
        stepper = self.stepper(args, kwargs, state.tuned)
        position = self.structure.ravel(state.z)
        walker = start = Walker(position, state.aux, state.gradient, state.preconditioner)
        state = noticed(state)
        state = state._replace(weight=jnp.zeros_like(state.weight), diverging=jnp.zeros((), bool))
        body = partial(self._transition, stepper)
        if self._num_steps == 1:
            state, walker = body(0, (state, walker))
        else:
            state, walker = jax.lax.fori_loop(0, self._num_steps, body, (state, walker))
        unravel = self.structure.unravel
        sound = self.structure.can_be_constrained(unravel(walker.position), args, kwargs)
        walker = keep_if(sound, walker, start)
        state = state._replace(diverging=state.diverging | ~sound)
        state = state._replace(
            i=state.i + 1,
            z=unravel(walker.position),
            aux=walker.aux,
            gradient=walker.gradient,
            preconditioner=walker.preconditioner,
            num_diverging=state.num_diverging + state.diverging.astype(jnp.int32),
        )
        return self.measured(state)

    def measured(self, state: Any) -> Any:
        """Return the state of one chain after an iteration, its momentum's temperature measured."""
        kinetic_temperature = self._dynamics.kinetic_temperature(state.aux)
        return settled(state._replace(kinetic_temperature=kinetic_temperature))

    def _transition(
        self, stepper: Stepper, s: Any, carry: tuple[SGMCMCState, Walker]
    ) -> tuple[SGMCMCState, Walker]:
        state, walker = carry
        count = state.i * self._num_steps + s
        key, key_noise, key_batch = threefry.split(state.rng_key, 3)
        step_size = jnp.asarray(stepper.step_size(count), walker.position.dtype)
        minibatch, minibatch_state = stepper.minibatch(key_batch, count, state.minibatch)
        increment = stepper.increment(key_noise, walker.position, step_size)
        moved = stepper.step(walker, minibatch, increment, step_size)
        state = state._replace(
            rng_key=key,
            step_size=step_size.astype(state.step_size.dtype),
            weight=state.weight + step_size.astype(state.weight.dtype),
            potential_energy=moved.potential_energy.astype(state.potential_energy.dtype),
            diverging=state.diverging | moved.diverging,
            minibatch=minibatch_state,
        )
        return state, moved.walker
