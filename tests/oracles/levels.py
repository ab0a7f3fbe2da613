"""Joint stationary covariance of Richardson-Romberg's walkers at any number of levels.

Walker k takes 2^k steps h / 2^k in the time in which the coarsest takes one. With A_k, heat_k and
kick_k its matrices, w_1, w_2, ... ~ N(0, T h / n I) the n finest increments that all share and
errors of its own,

    x_k <- A_k^(2^k) x_k + sum over its steps s of A_k^(2^k - 1 - s) (heat_k w(s) + kick_k error)

with w(s) the sum of the increments in s. Additive noise only.
"""

import numpy as np
from scipy.linalg import block_diag, solve_discrete_lyapunov

from tests.oracles.linear import Noise


def joint_covariance(
    build, hessian: np.ndarray, noise: Noise, h: float, levels: int, temperature: float = 1.0
) -> np.ndarray:
    """Return the covariance of the walkers after a whole step, the coarsest first."""
    assert noise.is_additive
    finest = 2 ** (levels - 1)
    steps, heats, errors = [], [], []
    for k in range(levels):
        count = 2**k
        walker = build(h / count)
        a = walker.transition(hessian)
        powers = [np.linalg.matrix_power(a, count - 1 - s) for s in range(count)]
        steps.append(np.linalg.matrix_power(a, count))
        heats.append(np.hstack([p @ walker.heat for p in powers for _ in range(finest // count)]))
        kicks = [p @ walker.kick for p in powers]
        errors.append(sum(kick @ noise.at_mode @ kick.T for kick in kicks))
    heat = np.vstack(heats)
    added = block_diag(*errors) + temperature * h / finest * heat @ heat.T
    return solve_discrete_lyapunov(block_diag(*steps), added)
