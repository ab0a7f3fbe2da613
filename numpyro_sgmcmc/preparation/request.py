"""What one call of a kernel's `init` asks for."""

from typing import Any, NamedTuple

import jax
from numpyro.util import is_prng_key


class Request(NamedTuple):
    """The arguments of a kernel's `init` besides the model's.

    Attributes:
        key: the key of the chain, or of each chain along a leading axis.
        num_warmup: NumPyro's, in MCMC iterations.
        init_params: unconstrained values by site name, with a leading axis where `key` has one;
            None leaves the start to the kernel.
    """

    key: jax.Array
    num_warmup: int
    init_params: dict[str, Any] | None

    @property
    def is_single(self) -> bool:
        """Whether one chain is asked for, without a leading axis."""
        return bool(is_prng_key(self.key))

    @property
    def chains(self) -> tuple[int, ...]:
        """The leading shape of what is given for each chain."""
        return () if self.is_single else self.key.shape[:1]
