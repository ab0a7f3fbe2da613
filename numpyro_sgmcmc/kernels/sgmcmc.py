"""Any dynamics with any gradient."""

from collections.abc import Callable
from typing import Any, final

from numpyro_sgmcmc.dynamics import AbstractDynamics
from numpyro_sgmcmc.kernels.base import AbstractKernel


@final
class SGMCMC(AbstractKernel):
    """A stochastic-gradient kernel composed of any parts.

    For example `SGMCMC(model, 1e-5, dynamics=Splitting(friction=20.0), gradient=FixedPoint())`.

    Args:
        model: a NumPyro model.
        step_size: h > 0, a function of the transition count, or None to choose.
        dynamics: such as `Langevin()`, `Hamiltonian(friction)`, `Splitting(friction)`.
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
        dynamics: AbstractDynamics,
        **options: Any,
    ) -> None:
        super().__init__(model, dynamics, step_size, **options)
