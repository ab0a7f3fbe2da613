"""A kernel whose gradients are some transitions old."""

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any, Literal, final

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.checks import check_instance
from numpyro_sgmcmc.kernels.base import AbstractKernel
from numpyro_sgmcmc.preconditioner import AbstractLinearMap, Dense, Diagonal
from numpyro_sgmcmc.preparation import Options, Target
from numpyro_sgmcmc.staleness import (
    AbstractDelay,
    GeometricDelay,
    Staleness,
    UniformDelay,
    delay_of,
    no_past,
)
from numpyro_sgmcmc.state import SGMCMCState, StaleGradientState


@final
class StaleGradient(AbstractKernel):
    """A kernel whose gradients are taken at points of its past (Chen et al. 2016).

    This simulates a server that moves on while its workers compute gradients. It needs no workers,
    and its draws are reproducible to the bit. With q_l the point at which transition l needs its
    gradient (z_l, or z_l + h p / 2 for splitting), k_l the age of the gradient that arrives, and
    S_l its minibatch,

        g_l = grad U_{S_l}(q_{l - k_l}),    then the kernel's own update with g_l;

    l - k_l < 0 stands for the first point. Any estimator whose state is constant between renewals
    can take the place of grad U_S. With age 0 the draws are those of the kernel, bit by bit.

    Bias. To first order in h, a gradient of age k is the gradient at the position z - k h p. Along
    a direction of curvature lambda it adds the force k h lambda p, which is negative friction. On a
    Gaussian with friction D and mean age a the relative error of the variance is

        a h lambda / (D - a h lambda)    (Langevin dynamics: a h lambda).

    It is of first order in h, whatever the order of the kernel and the distribution of the ages.
    The chain is unstable from about a h lambda = D on.

    Remedies, in the preconditioner's coordinates y with z = S y:

    - `remedy="friction"`: the momentum is damped with D + a h lambda, and the noise stays that of
      D. lambda is the diagonal of S' H S, so each coordinate has its own friction. After a warm-up
      it is about 1, and smaller in directions that the warm-up slowed down because of their noise.
      This remedy needs dynamics with a constant friction. The bias of first order cancels.
    - `remedy="curvature"`: g_l + H (q_l - q_{l - k_l}) replaces g_l. On a Gaussian with the true H
      this is the estimate at q_l, so that ages have no effect. Otherwise the bias of first order is
      the one above with lambda - c in place of lambda, where c is the curvature of H along the
      direction, and the error of the gradient is of second order in the distance moved.

    H is `curvature` if it is given, else the inverse covariance of the warm-up's approximation,
    else (S S')^-1 of a given preconditioner. The remedies are not in the paper.

    If the warm-up chooses the step size, it runs with fresh gradients, and h is then reduced until
    the ages change the variance of a Gaussian by 5 % at most. With a given step size `diagnose`
    reports the effect of the ages. `adaptation`, the attributes of the results and the verdict name
    the remedy. The statistic `staleness` of a draw is the mean age of its gradients.

    Symbols of the paper: tau_l is k_l and tau its bound `max_staleness`; h_l, A and B of its
    algorithm 1 (SGHMC) are h, D and D. Points and gradients have shape (d,). Its theorems bound the
    bias by a term of order tau h.

    References:
        Chen, Ding, Li, Zhang and Carin 2016, "Stochastic Gradient MCMC with Stale Gradients",
        https://arxiv.org/abs/1610.06664

    Args:
        kernel: a kernel of one walker, such as `SGHMCSplit(model)`. Its gradient estimator is
            `Plain()`, `FixedPoint()` or `SVRG()`, and its preconditioner is constant.
        delay: the age of gradients in transitions: an integer, `UniformDelay(largest)`,
            `GeometricDelay(average, largest)`, or a function that maps the transition count (0, 1,
            ...; the warm-up counts), a scalar integer array, to an integer. The remedies and the
            verdict take the frequencies of its ages from the first 4,096 transitions.
        max_staleness: the largest age m; a chain keeps its last m + 1 points, d numbers each. A
            function requires it; None is the largest age of the delay.
        remedy: "friction", "curvature", or None for none.
        curvature: H, an estimate of the Hessian of U on the unconstrained space: positive definite
            (d, d), or its diagonal (d,), in the order of the flat position (sites by name). None
            takes the one described above.

    Raises:
        TypeError: if an argument has the wrong type, if the kernel's gradient estimator or
            preconditioner follows the walker, or if remedy="friction" is used with dynamics without
            a constant friction.
        ValueError: if a bound is missing or exceeded, `remedy` is unknown, or `curvature` is not
            positive definite or has no remedy. On `init`, if `curvature` does not fit the model, or
            a remedy's curvature is not known.
    """

    def __init__(
        self,
        kernel: AbstractKernel,
        delay: int | UniformDelay | GeometricDelay | Callable[[Any], Any],
        *,
        max_staleness: int | None = None,
        remedy: Literal["friction", "curvature"] | None = None,
        curvature: Any = None,
    ) -> None:
        self.kernel = _checked(kernel)
        self.model = kernel.model
        _check_remedy(remedy, curvature, kernel.options)
        ages: AbstractDelay = delay_of(delay, max_staleness)
        whiten = None if curvature is None else _whitening(curvature)
        self._options = replace(kernel.options, staleness=Staleness(ages, remedy, whiten))

    @property
    def default_fields(self) -> tuple[str, ...]:
        """Fields of the state that `MCMC` always collects."""
        return (*super().default_fields, "staleness")

    def with_delay(self, delay: AbstractDelay) -> "StaleGradient":
        """Return a copy of this kernel with other ages, such as those that a run had."""
        new = copy(self)
        staleness = self._options.staleness
        assert staleness is not None
        new._options = replace(self._options, staleness=replace(staleness, delay=delay))
        return new

    def _first(self, state: SGMCMCState, target: Target) -> StaleGradientState:
        structure, chains = target.structure, state.i.shape
        staleness = self._options.staleness
        assert staleness is not None
        position = jax.eval_shape(structure.ravel, structure.prototype)
        past = no_past(jnp.zeros(position.shape, position.dtype), staleness.delay.largest)
        past = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (*chains, *leaf.shape)), past)
        return StaleGradientState(
            **state._asdict(), past=past, staleness=jnp.zeros_like(state.weight)
        )


def _checked(kernel: Any) -> AbstractKernel:
    check_instance("kernel", kernel, AbstractKernel, "SGHMCSplit(model)")
    options = kernel.options
    if options.staleness is not None:
        raise TypeError(
            "Expected a kernel with fresh gradients; got a StaleGradient. Add up the delays, and"
            " wrap the kernel inside it."
        )
    gradient, preconditioner = options.gradient, options.preconditioner
    if gradient is not None and not gradient.can_be_remote:
        raise TypeError(
            "Expected a gradient estimator whose state is constant between renewals; got"
            f" {type(gradient).__name__}, whose state changes with every estimate. Use Plain(),"
            " FixedPoint() or SVRG()."
        )
    if preconditioner is not None and not preconditioner.is_constant:
        raise TypeError(
            "Expected a constant preconditioner with stale gradients; got"
            f" {type(preconditioner).__name__}, which follows the gradients at the walker's own"
            " positions. Use Diagonal(scale) or Dense(factor)."
        )
    return kernel


def _check_remedy(remedy: Any, curvature: Any, options: Options) -> None:
    if remedy not in (None, "friction", "curvature"):
        raise ValueError(
            f'Expected `remedy` to be "friction", "curvature" or None; got {remedy!r}.'
        )
    if curvature is not None and remedy is None:
        raise ValueError(
            'Expected a remedy that uses `curvature`; got remedy=None. Pass remedy="curvature", or'
            " leave `curvature` out."
        )
    if remedy == "friction" and not options.dynamics.takes_compensation:
        name = type(options.dynamics).__name__
        raise TypeError(
            'Expected dynamics with a constant friction for remedy="friction"; got'
            f' {name}. Use remedy="curvature", SGHMC, SGHMCSplit or UBU.'
        )


def _whitening(curvature: Any) -> AbstractLinearMap:
    """Return W with H = W' W."""
    given = np.asarray(curvature, np.float64)
    remedy = "Pass the Hessian of the potential, -log density, or its diagonal."
    if given.ndim not in (1, 2) or given.shape[0] != given.shape[-1]:
        raise ValueError(
            f"Expected `curvature` of shape (d,) or (d, d); got {given.shape}. {remedy}"
        )
    if not np.all(np.isfinite(given)):
        raise ValueError(f"Expected `curvature` to be finite; got non-finite entries. {remedy}")
    if given.ndim == 1:
        if not np.all(given > 0):
            raise ValueError(f"Expected `curvature` to be positive; got {given.min()}. {remedy}")
        return Diagonal(jnp.asarray(np.sqrt(given)))
    values, axes = np.linalg.eigh((given + given.T) / 2)
    symmetric = np.allclose(given, given.T, rtol=1e-4, atol=1e-6 * np.abs(given).max())
    if not (symmetric and values[0] > 0):
        raise ValueError(
            "Expected `curvature` to be symmetric and positive definite; its smallest eigenvalue is"
            f" {values[0]:.3g}. {remedy}"
        )
    return Dense(jnp.asarray(np.sqrt(values)[:, None] * axes.T))
