"""Stochastic gradient Langevin dynamics."""

from collections.abc import Callable
from typing import Any, final

from numpyro_sgmcmc.dynamics import Langevin
from numpyro_sgmcmc.gradient import FixedPoint
from numpyro_sgmcmc.kernels.base import AbstractKernel


@final
class SGLD(AbstractKernel):
    """Stochastic gradient Langevin dynamics (papers/003, equation 2).

    Simulates dz = -grad U(z) dt + sqrt(2 T) dW by z <- z - h g + sqrt(2) dW, dW ~ N(0, T h I), with
    g an unbiased minibatch estimate of grad U. papers/003's and 004's gamma is h; Welling and Teh's
    epsilon is 2 h. `temperature=0` is SGD; a model without subsampling gives LMC.

    First order in h. With the plain gradient, whose noise is V = (N / B) H in whitened coordinates,
    the variance along a direction of curvature H is too large by h (V + H) / 2: choose h well below
    B / (N H), or `gradient=FixedPoint()`.

    Args:
        model: a NumPyro model.
        step_size: h > 0, a function of the transition count, or None to choose.
        **options: `gradient`, `temperature`, `minibatch`, `preconditioner`, `num_steps`,
            `init_strategy`, as in `AbstractKernel`.

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
        super().__init__(model, Langevin(), step_size, **options)


@final
class SGLDFP(AbstractKernel):
    """Langevin dynamics with a fixed-point gradient (papers/004, equation 5).

    `SGLD` with g(z) = grad U_S(z) - grad U_S(a) + grad U(a). The paper's equation has a at the
    mode, where the last term is zero; here it is kept, so the estimate is unbiased for any
    anchor a.

    First order in h, with gradient noise that vanishes with the posterior's width: the stationary
    variance tends to the posterior's as N grows at h = eta / N, where SGLD's does not.

    Args:
        model: a NumPyro model.
        step_size: h > 0, a function of the transition count, or None to choose.
        anchor: unconstrained values by site name; None finds a mode (Adam on minibatches, L-BFGS
            and Newton's steps on the full gradient) and starts there.
        **options: `temperature`, `minibatch`, `preconditioner`, `num_steps`, `init_strategy`, as in
            `AbstractKernel`.

    Raises:
        TypeError: where an argument is of a wrong type.
        ValueError: where a number is negative, zero or not finite, or, on `init`, where the anchor
            does not fit the model.
    """

    def __init__(
        self,
        model: Callable,
        step_size: float | Callable[[Any], Any] | None = None,
        *,
        anchor: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        if "gradient" in options:
            raise TypeError(
                "Expected no `gradient`: SGLDFP's is FixedPoint(anchor). Use SGLD(model,"
                " gradient=...) for another."
            )
        super().__init__(model, Langevin(), step_size, gradient=FixedPoint(anchor), **options)
