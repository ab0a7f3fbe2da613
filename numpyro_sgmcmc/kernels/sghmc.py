"""Stochastic gradient Hamiltonian Monte Carlo: two integrators, and a thermostat."""

from collections.abc import Callable
from typing import Any, final

from numpyro_sgmcmc.dynamics import Hamiltonian, NoseHoover, Splitting
from numpyro_sgmcmc.kernels.base import AbstractKernel


@final
class SGHMC(AbstractKernel):
    """SGHMC by semi-implicit Euler steps (papers/000 and 002, algorithm 1).

    Simulates dz = p dt, dp = -grad U(z) dt - D p dt + sqrt(2 D T) dW by
    p <- (1 - D h) p - h g + sqrt(2 D) dW, z <- z + h p, dW ~ N(0, T h I). h and D are the papers'.
    `temperature=0` is SGD with momentum.

    With exact gradients the law of the position is of second order in h (the momentum's is of
    first; see `Hamiltonian`). Gradient noise of variance V adds h V / (2 D) to the relative
    variance.

    Args:
        model: a NumPyro model.
        step_size: h > 0, a function of the transition count, or None to choose.
        friction: D > 0; None is 1.5 times the square root of the mean curvature.
        **options: `gradient`, `temperature`, `minibatch`, `preconditioner`, `noise_correction`,
            `num_steps`, `init_strategy`, as in `AbstractKernel`.

    Raises:
        TypeError: where an argument is of a wrong type.
        ValueError: where a number is negative, zero or not finite.
    """

    def __init__(
        self,
        model: Callable,
        step_size: float | Callable[[Any], Any] | None = None,
        *,
        friction: float | None = None,
        **options: Any,
    ) -> None:
        super().__init__(model, Hamiltonian(friction), step_size, **options)


@final
class SGHMCSplit(AbstractKernel):
    """SGHMC by symmetric splitting (papers/000, section 4).

    Simulates dz = p dt, dp = -grad U(z) dt - D p dt + sqrt(2 D T) dW in five exact steps: drift
    h/2, damp h/2, kick h, damp h/2, drift h/2 (see `Splitting`). h and D are the paper's.

    Second order in h with exact gradients. Gradient noise of variance V adds h V / (2 D) to the
    relative variance, of first order, which no splitting removes; `gradient=FixedPoint()` shrinks
    V.

    Args:
        model: a NumPyro model.
        step_size: h > 0, a function of the transition count, or None to choose.
        friction: D > 0; None is 1.5 times the square root of the mean curvature.
        **options: `gradient`, `temperature`, `minibatch`, `preconditioner`, `noise_correction`,
            `num_steps`, `init_strategy`, as in `AbstractKernel`.

    Raises:
        TypeError: where an argument is of a wrong type.
        ValueError: where a number is negative, zero or not finite.
    """

    def __init__(
        self,
        model: Callable,
        step_size: float | Callable[[Any], Any] | None = None,
        *,
        friction: float | None = None,
        **options: Any,
    ) -> None:
        super().__init__(model, Splitting(friction), step_size, **options)


@final
class SGNHT(AbstractKernel):
    """Stochastic gradient Nose-Hoover thermostat, by symmetric splitting (Ding et al. 2014).

    `SGHMCSplit` whose friction xi moves by dxi = (p . p / d - T) dt and so absorbs gradient noise
    of unknown variance V, where that is the same in all directions (see `NoseHoover`).

    Second order in h with exact gradients; with isotropic gradient noise too, as xi settles near
    A + h V / 2. A preconditioner that whitens the noise makes it so.

    Args:
        model: a NumPyro model.
        step_size: h > 0, a function of the transition count, or None to choose.
        friction: A > 0, the friction without gradient noise; None is 1.5 times the square root of
            the mean curvature.
        **options: `gradient`, `temperature`, `minibatch`, `preconditioner`, `noise_correction`,
            `num_steps`, `init_strategy`, as in `AbstractKernel`.

    Raises:
        TypeError: where an argument is of a wrong type.
        ValueError: where a number is negative, zero or not finite.
    """

    def __init__(
        self,
        model: Callable,
        step_size: float | Callable[[Any], Any] | None = None,
        *,
        friction: float | None = None,
        **options: Any,
    ) -> None:
        super().__init__(model, NoseHoover(friction), step_size, **options)
