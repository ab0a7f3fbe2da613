"""Stochastic gradient Langevin dynamics."""

from collections.abc import Callable
from typing import Any, final

from numpyro_sgmcmc.dynamics import Langevin
from numpyro_sgmcmc.gradient import SAGA, SVRG, FixedPoint
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
        **options: `temperature`, `minibatch`, `preconditioner`, `noise_correction`, `num_steps`,
            `init_strategy`, as in `AbstractKernel`.

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
        _refuse_gradient("SGLDFP's is FixedPoint(anchor)", options)
        super().__init__(model, Langevin(), step_size, gradient=FixedPoint(anchor), **options)


@final
class SVRGLD(AbstractKernel):
    """Langevin dynamics with stochastic variance-reduced gradients (Dubey et al. 2016).

    `SGLD` with g(z) = grad U_S(z) - grad U_S(a) + grad U(a), where a is the walker's position at
    the last renewal, every `period` transitions. Theirs is U / 2 and h / 2 for our U and h.

    First order in h. The gradient noise is the plain one's less what the walker's last `period`
    transitions leave of it: at most about twice `SGLDFP`'s, with no mode to be found; each renewal
    is a pass over the whole data.

    Args:
        model: a NumPyro model.
        step_size: h > 0, a function of the transition count, or None to choose.
        period: transitions between two renewals; None is one epoch, N / B rounded up.
        **options: `temperature`, `minibatch`, `preconditioner`, `noise_correction`, `num_steps`,
            `init_strategy`, as in `AbstractKernel`.

    Raises:
        TypeError: where an argument is of a wrong type.
        ValueError: where a number is negative, zero or not finite.
    """

    def __init__(
        self,
        model: Callable,
        step_size: float | Callable[[Any], Any] | None = None,
        *,
        period: int | None = None,
        **options: Any,
    ) -> None:
        _refuse_gradient("SVRGLD's is SVRG(period)", options)
        super().__init__(model, Langevin(), step_size, gradient=SVRG(period), **options)


@final
class SAGALD(AbstractKernel):
    """Langevin dynamics with a table of each row's last gradient (Dubey et al. 2016).

    `SGLD` with the gradient of `SAGA`. First order in h; gradient noise as `SVRGLD`'s, without its
    renewals, for a table of N d numbers in each chain.

    Args:
        model: a NumPyro model with one subsampled plate.
        step_size: h > 0, a function of the transition count, or None to choose.
        max_bytes: the largest table of one chain that is not refused.
        **options: `temperature`, `minibatch`, `preconditioner`, `noise_correction`, `num_steps`,
            `init_strategy`, as in `AbstractKernel`.

    Raises:
        TypeError: where an argument is of a wrong type.
        ValueError: where a number is negative, zero or not finite; on `init`, where the model has
            several subsampled plates or the table would be larger than `max_bytes`.
    """

    def __init__(
        self,
        model: Callable,
        step_size: float | Callable[[Any], Any] | None = None,
        *,
        max_bytes: int = 2**30,
        **options: Any,
    ) -> None:
        _refuse_gradient("SAGALD's is SAGA(max_bytes)", options)
        super().__init__(model, Langevin(), step_size, gradient=SAGA(max_bytes), **options)


def _refuse_gradient(what: str, options: dict[str, Any]) -> None:
    if "gradient" in options:
        raise TypeError(
            f"Expected no `gradient`: {what}. Use SGLD(model, gradient=...) for another."
        )
