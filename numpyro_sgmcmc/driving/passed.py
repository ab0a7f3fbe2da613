"""How a program gets the arguments of a model: as its constants, or as inputs of every call."""

from collections.abc import Callable, Hashable
from typing import NamedTuple

import jax
import numpy as np

from numpyro_sgmcmc.kernels.constants import LARGE, bytes_of_arrays
from numpyro_sgmcmc.model import as_jax_arrays, fingerprint, split_arguments


class Passed(NamedTuple):
    """The arguments of a model for a program.

    Attributes:
        inputs: of every call of the program.
        rebuild: makes `(args, kwargs)` of the inputs. It holds what is constant.
        identity: of what is constant.
    """

    inputs: tuple
    rebuild: Callable[..., tuple[tuple, dict]]
    identity: Hashable

    def whole(self) -> tuple[tuple, dict]:
        """Return all arguments."""
        return self.rebuild(*self.inputs)


def all_constant(model: tuple[tuple, dict]) -> Passed:
    """Return arguments that are constants: other arrays or other content need another program."""
    identities = tuple(map(id, jax.tree.leaves(model)))
    return Passed((), lambda: model, (identities, fingerprint(*model)))


def all_inputs(model: tuple[tuple, dict]) -> Passed:
    """Return arguments that are inputs, numbers too. Arrays in a file are not read into memory."""
    return Passed((as_jax_arrays(*model),), lambda model: model, None)


def arrays_as_inputs(model: tuple[tuple, dict]) -> Passed:
    """Return arguments whose arrays are inputs. Arrays in a file are not read into memory."""
    arrays, rebuild = split_arguments(*as_jax_arrays(*model))
    others = rebuild([None] * len(arrays))
    identities = tuple(map(id, jax.tree.leaves(others)))
    return Passed((arrays,), rebuild, (identities, fingerprint(*others)))


def are_large(model: tuple[tuple, dict]) -> bool:
    """Return whether arguments should not become constants: in a file, or with many bytes."""
    leaves = jax.tree.leaves(model)
    return any(isinstance(x, np.memmap) for x in leaves) or bytes_of_arrays(leaves) >= LARGE
