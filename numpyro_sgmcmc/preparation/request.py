"""The arguments of one call of a kernel's `init`."""

from typing import Any, NamedTuple

import jax
from numpyro.util import is_prng_key


class Request(NamedTuple):
    """The arguments of a kernel's `init`, other than those of the model.

    Attributes:
        key: the key of one chain, or the keys of all chains along a leading axis.
        num_warmup: number of warm-up iterations of NumPyro's `MCMC`.
        init_params: unconstrained values by site name, with a leading axis if `key` has one. If
            None, the kernel chooses the start.
    """

    key: jax.Array
    num_warmup: int
    init_params: dict[str, Any] | None

    @property
    def is_single(self) -> bool:
        """Whether the request is for one chain, without a leading axis."""
        return bool(is_prng_key(self.key))

    @property
    def chains(self) -> tuple[int, ...]:
        """The leading shape of `init_params`."""
        return () if self.is_single else self.key.shape[:1]
