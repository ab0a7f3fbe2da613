"""The interface of all kernels to NumPyro's `MCMC`, and to verdict, search and results."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

import jax
import jax.numpy as jnp
from numpyro.infer.mcmc import MCMCKernel
from numpyro.util import is_prng_key

from numpyro_sgmcmc.kernels.chains import over_chains
from numpyro_sgmcmc.kernels.iteration import Iteration
from numpyro_sgmcmc.kernels.memory import Memory
from numpyro_sgmcmc.model import Structure, fingerprint
from numpyro_sgmcmc.precision import full_precision
from numpyro_sgmcmc.preparation import (
    AbstractPasses,
    Adaptation,
    Options,
    Request,
    Target,
    first_states,
)
from numpyro_sgmcmc.state import is_made_for


class NumPyroKernel(MCMCKernel, ABC):
    """A kernel of one walker, or of several at different step sizes or temperatures.

    A kernel holds only the user's choices. Whatever depends on data is in its `memory` and in the
    states.
    """

    model: Callable
    levels: int
    """Number of walkers, whose step sizes are h, h / 2, ..."""

    replicas: int = 1
    """Number of replicas of a chain, at different temperatures."""

    @property
    @abstractmethod
    def options(self) -> Options:
        """The user's choices for each walker."""

    @property
    @abstractmethod
    def memory(self) -> Memory:
        """What this kernel's runs computed for their data."""

    @abstractmethod
    def _first(self, state: Any, target: Target) -> Any:
        """Return the first state of all walkers, given that of one."""

    @abstractmethod
    def _renewed(self, state: Any, structure: Structure, args: tuple, kwargs: dict) -> Any:
        """Return the state with its gradient estimators renewed if their period has ended."""

    @abstractmethod
    def _advance(
        self,
        state: Any,
        structure: Structure,
        args: tuple,
        kwargs: dict,
        chosen: Iteration | None,
    ) -> Any:
        """Return the state of one chain after one iteration.

        `chosen` tells the iteration's transitions, the same for all chains, if the warm-up chose
        their number.
        """

    def _check_structure(self, structure: Structure) -> None:
        """Raise an error for a model that this kernel cannot sample."""
        if structure.local is not None and self.levels * self.replicas > 1:
            raise TypeError(
                f"Expected a kernel of one walker for a model with latents of rows; got"
                f" {type(self).__name__}, whose walkers would need the same latents. Use"
                " SGHMCSplit, SGHMC or SGLD."
            )

    def coefficients(self, structure: Structure) -> tuple[float, ...]:
        """Return each walker's coefficient in an estimate, the finest first; they sum to 1."""
        return (1.0,)

    @property
    def sample_field(self) -> str:
        """The field of the state that holds the draws."""
        return "z"

    @property
    def settings(self) -> dict[str, Any]:
        """Choices that are not options of each walker, by name."""
        return {"levels": self.levels}

    @property
    def num_steps(self) -> int | None:
        """Number of transitions of a draw, for the walker with the largest step.

        It is what the user or, in the latest run, the warm-up chose; None before a run if the
        warm-up is to choose it.
        """
        latest = self.memory.latest
        if self.options.num_steps is not None or latest is None:
            return self.options.num_steps
        assert latest.tuned.pace is not None
        return int(latest.tuned.pace.num_steps)

    @property
    def adaptation(self) -> Adaptation | None:
        """What the last warm-up measured and chose; None before a run or without a warm-up."""
        latest = self.memory.latest
        return None if latest is None else latest.adaptation

    @property
    def structure(self) -> Structure:
        """The model's structure, known after `init` was called."""
        if self.memory.target is None:
            raise ValueError("Expected a kernel that has been run; call `MCMC(kernel).run` first.")
        return self.memory.target.structure

    @property
    def _sample_fn(self) -> Target | None:
        # Unless this attribute is set, NumPyro's MCMC calls `init` again when a run continues.
        return self.memory.target

    @full_precision()
    def init(
        self,
        rng_key: jax.Array,
        num_warmup: int,
        init_params: dict[str, Any] | None = None,
        model_args: tuple = (),
        model_kwargs: dict | None = None,
    ) -> Any:
        """Prepare the kernel for a model's arguments and return the first state of each chain.

        The search for a mode and the tuning use fixed keys. They depend only on the model, the
        data, the options and `num_warmup`. They are done once for all chains, and give the same
        result for every `chain_method`.

        Raises:
            TypeError: if arguments of the model are missing, or `init_params` is not a dict.
            ValueError: if the model, the data, `init_params` or the start cannot be sampled.
        """
        began = perf_counter()
        memory, options = self.memory, self.options
        request = Request(rng_key, num_warmup, init_params)
        target, tag = memory.bind(self.model, options, model_args, model_kwargs or {})
        self._check_structure(target.structure)
        memory.calls.append(began)
        prepared = memory.prepare(target, options, request, tag)
        return self._first(first_states(target, options, prepared, request, tag), target)

    @full_precision()
    def prepare(
        self,
        num_warmup: int,
        model_args: tuple,
        model_kwargs: dict,
        passes: AbstractPasses,
    ) -> None:
        """Do the preparation that `init` does without `init_params`, with passes by others.

        Args:
            num_warmup: as for `init`, which then has nothing left to prepare.
            model_args: the model's positional arguments.
            model_kwargs: its keyword arguments.
            passes: makes the passes over all rows.
        """
        target, tag = self.memory.bind(self.model, self.options, model_args, model_kwargs)
        self._check_structure(target.structure)
        request = Request(jax.random.key(0), num_warmup, None)
        self.memory.prepare(target, self.options, request, tag, passes)

    @full_precision()
    def sample(self, state: Any, model_args: tuple, model_kwargs: dict) -> Any:
        """Return the state after one MCMC iteration of `num_steps` transitions.

        If the warm-up chose this number, the first `num_warmup` iterations take fewer.

        If the state was made for other data, its values become NaN.

        Raises:
            ValueError: if the data are known to differ from those of every run of this kernel.
        """
        found = fingerprint(model_args, model_kwargs)
        asked = self.model, self.options, found
        structure = self.memory.structure_for(*asked, model_args, model_kwargs)
        first = state.i, state.tuned.pace, state.data
        if not is_prng_key(state.rng_key):
            first = jax.tree.map(lambda leaf: leaf[0], first)
        count, pace, tag = first
        is_right = is_made_for(tag, found, model_args, model_kwargs)
        # A number of transitions with an axis of chains would make every transition of every chain
        # a selection.
        chosen = None if pace is None else Iteration(pace.before(count), pace.steps(count))
        state = self._renewed(state, structure, model_args, model_kwargs)

        def advance(chain: Any) -> Any:
            weights = chain.tuned.centring
            placed = structure.partly_centred(weights, model_args, model_kwargs)
            return self._advance(chain, placed, model_args, model_kwargs, chosen)

        moved = over_chains(advance, state, self.options.minibatch)
        lost = jax.tree.map(lambda z: jnp.where(is_right, z, jnp.nan), moved.z)
        return moved._replace(z=lost, diverging=moved.diverging | ~is_right)

    def postprocess_fn(self, model_args: tuple, model_kwargs: dict) -> Callable:
        """Return the map from unconstrained values to constrained and deterministic sites."""
        found = fingerprint(model_args, model_kwargs)
        given = self.model, self.options, found
        structure = self.memory.structure_for(*given, model_args, model_kwargs)
        constrain = full_precision()(structure.constrain)
        return partial(constrain, args=model_args, kwargs=model_kwargs)

    def get_diagnostics_str(self, state: Any) -> str:
        """Return step size, chosen steps per draw and share of diverged iterations, in words."""
        return self.memory.progress.words(state)
