"""The variance that gradient noise adds where the noise of minibatches cancels within an epoch."""

from collections import defaultdict

import numpy as np

from numpyro_sgmcmc.minibatch import Epoch
from numpyro_sgmcmc.stationary.matrices import outer, summed


def noise_of_epochs(a: np.ndarray, kick: np.ndarray, epoch: Epoch) -> np.ndarray:
    """Return the stationary covariance that gradient noise of variance 1 causes, (n, size, size).

    A transition is x <- A x + b e, with the noise e of the block whose turn it is. Let c_ks be the
    response of x, s transitions after the beginning of an epoch, to the noise of block k: the sum
    of A^(s - 1 - t) b over the earlier turns t of that block. The noise of two blocks of an epoch
    has the covariance (1 + r) delta - r, so that this epoch has added

        F_s = (1 + r) sum_k c_ks c_ks' - r C_s C_s',    C_s = sum_k c_ks.

    Blocks of different epochs are independent. At the beginning of an epoch of P transitions the
    covariance M therefore solves M = A^P M A'^P + F_P, and s transitions later it is
    A^s M A'^s + F_s. The result is its mean over s, which is what draws of all transitions show.

    Args:
        a: matrices of a transition, (n, size, size), with spectral radius below 1.
        kick: the vectors b, (n, size).
        epoch: the order of the blocks, and their correlation -r.
    """
    length = len(epoch.order)
    responses = [kick]
    for _ in range(length):
        responses.append(_applied(a, responses[-1]))
    turns: dict[int, list[int]] = defaultdict(list)
    total, squares, both = np.zeros_like(kick), np.zeros_like(a), np.zeros_like(a)
    mean = np.zeros_like(a)
    for s, block in enumerate(epoch.order):
        mean += both / length
        squares = a @ squares @ a.transpose(0, 2, 1) + outer(kick)
        if turns[block]:
            earlier = np.sum([responses[s - t] for t in turns[block]], axis=0)
            cross = earlier[:, :, None] * kick[:, None, :]
            squares += cross + cross.transpose(0, 2, 1)
        total = _applied(a, total) + kick
        turns[block].append(s)
        both = (1 + epoch.repulsion) * squares - epoch.repulsion * outer(total)
    covariance = summed(np.linalg.matrix_power(a, length), both)
    for _ in range(length):
        mean += covariance / length
        covariance = a @ covariance @ a.transpose(0, 2, 1)
    return mean


def _applied(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    return (a @ x[:, :, None])[:, :, 0]
