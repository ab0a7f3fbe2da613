"""Replicas of a kernel at several temperatures that swap their positions."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, final

import jax
import jax.numpy as jnp
from numpyro.util import is_prng_key

from numpyro_sgmcmc.checks import check_count, check_instance, check_number
from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.kernels.base import AbstractKernel
from numpyro_sgmcmc.kernels.iteration import Iteration, fixed, repeated
from numpyro_sgmcmc.kernels.memory import Memory
from numpyro_sgmcmc.kernels.protocol import NumPyroKernel
from numpyro_sgmcmc.kernels.renewal import is_due_now, renewed
from numpyro_sgmcmc.kernels.replicas import FirstReplicas, Replicas, packed, stepped, unpacked
from numpyro_sgmcmc.kernels.stepping import stepper_of
from numpyro_sgmcmc.kernels.swap_energies import minibatch_ratio, whole_data_ratio
from numpyro_sgmcmc.kernels.swapping import FEWEST_ESTIMATES, swapped
from numpyro_sgmcmc.kernels.transitions import begun, ended
from numpyro_sgmcmc.model import Structure
from numpyro_sgmcmc.preparation import Options, Target, View
from numpyro_sgmcmc.state import ReplicaExchangeState, SGMCMCState, with_new_key, with_own_key
from numpyro_sgmcmc.transition import Walker, keep_if
from numpyro_sgmcmc.types import Plate


@final
class ReplicaExchange(NumPyroKernel):
    """Replicas of a kernel at several temperatures that swap their positions.

    Use it for posteriors with modes that a single chain does not leave. Replica k takes the
    kernel's transitions with noise of temperature T_k and so samples exp(-U / T_k). Replicas at
    high temperatures cross the barriers between modes. Swaps pass their positions on to the coldest
    replica, whose draws are those of the run. Every `swap_every` transitions, neighbouring replicas
    propose to swap their positions, the pairs (0, 1), (2, 3), ... and (1, 2), (3, 4), ... in turn
    (Syed et al. 2022). A swap is accepted with probability

        min(1, exp(x)),    x = (1 / T_k - 1 / T_(k+1)) (U(z_k) - U(z_(k+1))).

    Positions swap, and momenta stay at their temperatures. At temperature T position and momentum
    are independent and the momentum is N(0, T I). A swap therefore changes the joint density, the
    product of exp(-U(z_k) / T_k) N(p_k; 0, T_k I), by the factor exp(x), and leaves it invariant.
    z_k and p_k have shape (d,), and x is a scalar.

    Noise of energies. By default U is that of the whole data: a swap is exact, and takes a pass
    over all rows for each replica. With `swap_minibatches=m` the difference is the mean of m
    minibatch estimates, each with the same rows for both replicas. The variance s^2 of its error is
    estimated from the m estimates, and a swap is accepted with probability

        min(1, exp(x_m - s^2 / 2)),

    which is exact for normal errors of known variance (Ceperley and Dewing 1999). The swaps of Deng
    et al. (2020) have the same correction. Without it positions of high energy are accepted too
    often. Because s^2 is estimated, further terms are subtracted (see `swapping.accepted`):
    detailed balance then holds up to a factor of 1.0014 at s = 1.5 with m = 32, and more closely
    with larger m. The errors are approximately normal by the central limit theorem over m B rows,
    unless a few rows dominate.

    Minibatches are useful only where s is about 1 or less. In a regular model with d parameters, N
    rows and temperatures that differ by the factor 1 + r, s^2 is about 2 r^2 d N / (T m B). Swaps
    are accepted often enough if r is about sqrt(2 / d) or less. The coldest pairs then need about N
    rows, and only pairs at temperatures above N / (m B) need few. `swaps.noise` of the last state
    is the mean of s^2 by pair.

    Bias. With exact transitions the coldest replica has the exact distribution, whatever the
    temperatures. Discretisation and gradient noise give each replica the bias of its kernel, and
    swaps pass it on: the bias of the coldest replica is of the kernel's order in h, with another
    constant. Gradient noise of variance V adds h V / (2 lambda) to a variance T_k / lambda under
    Langevin dynamics. Its relative error h V / (2 T_k) is smallest in hot replicas. Semi-implicit
    Euler (`SGHMC`) has a covariance of position and momentum of first order in h, which swaps
    remove, so its bias may become one of first order. Splitting, UBU and Langevin dynamics keep
    their order.

    Warm-up, step size and noise correction. The kernel's own warm-up at the lowest temperature is
    used for all replicas. Where U is convex the same step size is stable at every temperature,
    because stability depends on h lambda alone. The noise correction is adapted to each
    temperature. Hot replicas visit wider regions; a rejected step of any replica counts as
    `diverging`.

    The whole posterior is tempered, prior included, on the unconstrained space. exp(-U / T) must be
    integrable at every temperature. With a Cauchy prior and no data it is not, for T of 2 or more.

    Cost. K replicas take K gradients a transition, and K energies of all rows (or of m B rows)
    every `swap_every` transitions.

    Statistics. `mcmc.last_state.swaps` is the record of swaps since the start. Its `rates` are the
    shares of accepted swaps by pair; the progress bar shows the smallest. A ladder of temperatures
    with rates of 0.2 to 0.4 for each pair is a good choice: it is short, and positions still pass
    through it. `round_trips` counts arrivals from the hottest temperature. `replica`, collected
    with the draws, is the label of the coldest position.

    References:
        Swendsen and Wang 1986, "Replica Monte Carlo Simulation of Spin-Glasses",
        https://doi.org/10.1103/PhysRevLett.57.2607

        Syed, Bouchard-Cote, Deligiannidis and Doucet 2022, "Non-Reversible Parallel Tempering: a
        Scalable Highly Parallel MCMC Scheme", https://arxiv.org/abs/1905.02939

        Ceperley and Dewing 1999, "The penalty method for random walks with uncertain energies",
        https://arxiv.org/abs/physics/9812035

        Deng, Feng, Gao, Liang and Lin 2020, "Non-convex Learning via Replica Exchange Stochastic
        Gradient MCMC", https://arxiv.org/abs/2008.05367

    Symbols. Deng et al.'s tau is T, their sigma^2 is half of the variance of the error of U(z_1) -
    U(z_2), and their factor F, which reduces the correction, is 1 here.

    Args:
        kernel: a kernel of one walker, such as `SGHMCSplit(model)`, with fresh gradients.
        temperatures: T_0 < T_1 < ..., at least two. The first is the kernel's own temperature,
            usually 1. A geometric sequence is a good start. At the last one a chain should cross
            the barriers, whose height U / T decreases with T.
        swap_every: number of transitions between two rounds of swaps, rounded down to whole MCMC
            iterations. None is the longest epoch, N / B (a round then takes about as many rows as
            the transitions since the last one), or `swap_minibatches` if it is given.
        swap_minibatches: number m of minibatches of a swap's energies, at least 32. None is the
            whole data.

    Raises:
        TypeError: if an argument has the wrong type, or the kernel has several walkers, stale
            gradients or a preconditioner that follows the walker. On `init`, if the model has
            latents of rows, or a random density without `swap_minibatches`.
        ValueError: if the temperatures are not increasing, finite and positive, or do not begin at
            the kernel's, or a number is too small.
    """

    levels = 1

    def __init__(
        self,
        kernel: AbstractKernel,
        temperatures: Sequence[float],
        *,
        swap_every: int | None = None,
        swap_minibatches: int | None = None,
    ) -> None:
        self.kernel = _checked(kernel)
        self.temperatures = _checked_temperatures(temperatures, kernel.options.temperature)
        self.replicas = len(self.temperatures)
        self.swap_every = None if swap_every is None else check_count("swap_every", swap_every)
        self.swap_minibatches = swap_minibatches
        if swap_minibatches is not None and (
            check_count("swap_minibatches", swap_minibatches) < FEWEST_ESTIMATES
        ):
            raise ValueError(
                f"Expected `swap_minibatches` to be at least {FEWEST_ESTIMATES}, so that the noise"
                f" of the energies can be estimated; got {swap_minibatches}. Use more minibatches,"
                " or None for the whole data."
            )

    @property
    def model(self) -> Callable:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The NumPyro model."""
        return self.kernel.model

    @property
    def options(self) -> Options:
        """The user's choices for each replica, at the lowest temperature.

        Effects move as the model has them.
        """
        return replace(self.kernel.options, recentre=False)

    @property
    def memory(self) -> Memory:
        """What runs of this kernel, or of the one inside, computed for their data."""
        return self.kernel.memory

    @property
    def default_fields(self) -> tuple[str, ...]:
        """Fields of the state that `MCMC` always collects."""
        return (*self.kernel.default_fields, "replica")

    @property
    def settings(self) -> dict[str, Any]:
        """Choices that are not options of each replica, by name."""
        return super().settings | {
            "temperatures": self.temperatures,
            "swap_every": self.swap_every,
            "swap_minibatches": self.swap_minibatches,
        }

    def swap_period(self, plates: dict[str, Plate]) -> int:
        """Return the number of transitions between two rounds of swaps."""
        if self.swap_every is not None:
            return self.swap_every
        if self.swap_minibatches is not None:
            return self.swap_minibatches
        return max((-(-size // batch) for size, batch in plates.values()), default=1)

    def _check_structure(self, structure: Structure) -> None:
        super()._check_structure(structure)
        if structure.is_random and self.swap_minibatches is None:
            raise TypeError(
                "Expected a model with a deterministic density for swaps by the whole data; got one"
                " that draws random numbers (`numpyro.prng_key`). Pass"
                f" swap_minibatches={FEWEST_ESTIMATES}, whose test takes their noise into account."
            )

    def _first(self, state: SGMCMCState, target: Target) -> ReplicaExchangeState:
        program = FirstReplicas(self.options, self.temperatures, bool(is_prng_key(state.rng_key)))
        return target.run(program.run, state, name=program.name, optimise=False)

    def _renewed(
        self, state: ReplicaExchangeState, structure: Structure, args: tuple, kwargs: dict
    ) -> ReplicaExchangeState:
        given = self.options, structure, args, kwargs, state
        hot = renewed(*given, state.hot.gradient, state.hot_positions, has_replicas=True)
        state = state._replace(
            gradient=renewed(*given, state.gradient, state.z), hot=state.hot._replace(gradient=hot)
        )
        chains = 1 if is_prng_key(state.rng_key) else len(state.i)
        exchange = partial(self._exchanged, structure, args, kwargs, chains)
        exchange = exchange if is_prng_key(state.rng_key) else jax.vmap(exchange)
        # Outside of the `vmap` over chains, so that only iterations with swaps take a pass.
        is_due = is_due_now(self.options, state, self.swap_period(structure.plates))
        return jax.lax.cond(is_due, exchange, lambda same: same, state)

    def _exchanged(
        self,
        structure: Structure,
        args: tuple,
        kwargs: dict,
        chains: int,
        state: ReplicaExchangeState,
    ) -> ReplicaExchangeState:
        """Return the state of one chain after a round of swaps."""
        view = View(structure, self.options.minibatch, args, kwargs)
        state = with_new_key(state)
        own, key_rows, key_test = random.split(state.rng_key, 3)
        walkers, schemes = unpacked(state, structure.ravel)
        cold = 1 / jnp.asarray(self.temperatures, walkers.position.dtype)
        rates = cold[:-1] - cold[1:]
        if self.swap_minibatches is None:
            ratio = whole_data_ratio(view, walkers.position, rates, chains)
        else:
            ratio = minibatch_ratio(view, key_rows, walkers.position, rates, self.swap_minibatches)
        # What an estimator keeps, such as an anchor, belongs to the position.
        moving = walkers.position, walkers.gradient
        (positions, gradient), swaps = swapped(key_test, ratio, state.swaps, moving)
        walkers = walkers._replace(position=positions, gradient=gradient)
        state = packed(state, Replicas(walkers, schemes), structure.unravel)
        return with_own_key(state._replace(rng_key=own, swaps=swaps, replica=swaps.labels[0]))

    def _advance(
        self,
        state: ReplicaExchangeState,
        structure: Structure,
        args: tuple,
        kwargs: dict,
        chosen: Iteration | None,
    ) -> ReplicaExchangeState:
        options, unravel = self.options, structure.unravel
        stepper = stepper_of(options, structure, args, kwargs, state.tuned)
        replicas = start = unpacked(state, structure.ravel)
        state = begun(state)
        before, steps = chosen or fixed(options, state.i)
        coldest = self.temperatures[0]
        scales = [temperature / coldest for temperature in self.temperatures]
        ratios = jnp.asarray(scales, start.walkers.position.dtype)

        def body(s: Any, carry: tuple[Any, Replicas]) -> tuple[Any, Replicas]:
            return stepped(stepper, ratios, before + s, *carry)

        state, replicas = repeated(steps, body, (state, replicas))

        def sound(new: Walker, old: Walker) -> tuple[Walker, jax.Array]:
            is_sound = structure.can_be_constrained(unravel(new.position), args, kwargs)
            return keep_if(is_sound, new, old), is_sound

        walkers, are_sound = jax.vmap(sound)(replicas.walkers, start.walkers)
        state = state._replace(diverging=state.diverging | ~jnp.all(are_sound))
        state = packed(state, Replicas(walkers, replicas.schemes), unravel)
        one = jax.tree.map(lambda leaf: leaf[0], walkers)
        return ended(options, structure, args, kwargs, state, one, one, steps)[0]


def _checked(kernel: Any) -> AbstractKernel:
    if isinstance(kernel, NumPyroKernel) and not isinstance(kernel, AbstractKernel):
        raise TypeError(
            f"Expected a kernel of one walker; got {type(kernel).__name__}, which has several. Wrap"
            " the kernel inside it, such as SGHMCSplit(model)."
        )
    check_instance("kernel", kernel, AbstractKernel, "SGHMCSplit(model)")
    options = kernel.options
    if options.staleness is not None:
        raise TypeError(
            "Expected a kernel with fresh gradients; got a StaleGradient, whose earlier points"
            " belong to another temperature after a swap. Use the kernel inside it."
        )
    preconditioner = options.preconditioner
    if preconditioner is not None and not preconditioner.is_constant:
        raise TypeError(
            "Expected a constant preconditioner; got"
            f" {type(preconditioner).__name__}, whose state belongs to one temperature and to the"
            " walker's own path. Use Diagonal(scale) or Dense(factor)."
        )
    return kernel


def _checked_temperatures(temperatures: Any, own: float) -> tuple[float, ...]:
    if isinstance(temperatures, str) or not hasattr(temperatures, "__len__"):
        raise TypeError(
            f"Expected `temperatures` to be a sequence such as [1, 2, 4, 8]; got {temperatures!r}."
        )
    given = [check_number(f"temperatures[{k}]", t) for k, t in enumerate(temperatures)]
    if len(given) < 2:
        raise ValueError(
            f"Expected at least two temperatures; got {given}. Use a sequence such as [1, 2, 4, 8],"
            " or the kernel alone."
        )
    if any(b <= a for a, b in pairwise(given)):
        raise ValueError(
            f"Expected increasing temperatures; got {given}. Sort them, each once, the lowest"
            " first."
        )
    if given[0] != own:
        raise ValueError(
            f"Expected `temperatures` to begin at the kernel's own, {own}; got {given[0]}. Pass"
            f" temperature={given[0]} to the kernel, or begin at {own}."
        )
    return tuple(given)
