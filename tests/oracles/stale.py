"""Stationary covariance with gradients that are some transitions old, by the whole second moment.

The state X = (x, queries of the last m transitions) follows X <- A_k X + noise, with the age k
drawn anew at each transition. vec(M) = sum_k w_k (A_k x A_k) vec(M) + vec(Q) is solved as it
stands, for one dimension: no structure is used that the package's own recursion uses.
"""

import numpy as np

from tests.oracles.recursion import DYNAMICS, Recursion


def matrix(recursion: Recursion, curvature: float, age: int, largest: int, known: float):
    """Return A_k for a gradient lambda q_k + c (q_0 - q_k)."""
    size = len(recursion.free)
    a = np.zeros((size + largest, size + largest))
    now = np.concatenate([recursion.look[0], np.zeros(largest)])
    then = now if age == 0 else np.eye(size + largest)[size + age - 1]
    a[:size, :size] = recursion.free
    a[:size] += np.outer(recursion.kick[:, 0], curvature * then + known * (now - then))
    if largest:
        a[size] = now
    for place in range(size + 1, size + largest):
        a[place, place - 1] = 1.0
    return a


def covariance(recursion, curvature, ages, h, *, known=0.0, noise=0.0):
    """Return the covariance of x; infinite where the second moment does not settle."""
    size, m = len(recursion.free), len(ages) - 1
    load = np.zeros((1 + recursion.heat.shape[1], size + m))
    load[1:, :size] = np.sqrt(h) * recursion.heat.T
    load[0, :size] = np.sqrt(noise) * recursion.kick[:, 0]
    each = [matrix(recursion, curvature, k, m, known) for k in range(m + 1)]
    operator = sum(w * np.kron(a, a) for w, a in zip(ages, each, strict=True) if w)
    if np.abs(np.linalg.eigvals(operator)).max() >= 1:
        return np.full((size, size), np.inf)
    second = np.linalg.solve(np.eye(len(operator)) - operator, (load.T @ load).ravel())
    return second.reshape(size + m, size + m)[:size, :size]


def relative(
    dynamics, h, curvature, ages, *, friction=1.5, known=0.0, damping=0.0, noise=0.0, scale=1.0
):
    """Return lambda times the stationary variance of the position.

    `damping` c adds h c to the friction, and leaves the noise as it is.
    """
    total = friction + h * damping
    recursion = DYNAMICS[dynamics](h, scale * np.eye(1), total)
    if dynamics != "langevin":
        recursion = recursion._replace(heat=recursion.heat * np.sqrt(friction / total))
    found = covariance(recursion, curvature, ages, h, known=known, noise=noise)
    return curvature * found[0, 0]


def kick_first(h: float, friction: float, noise_friction: float) -> Recursion:
    """Kick, half drift, exact damping with noise, half drift; the gradient is taken at x."""
    e = np.exp(-friction * h)
    free = np.array([[1, h / 2 * (1 + e)], [0, e]])
    kick = -h * np.array([[h / 2 * (1 + e)], [e]])
    variance = (1 - e**2) * noise_friction / friction
    heat = np.sqrt(variance / h) * np.array([[h / 2], [1.0]])
    return Recursion(free, kick, heat, np.array([[1.0, 0.0]]))


def fixed(age: int) -> np.ndarray:
    """Return the probabilities of one age."""
    return np.eye(age + 1)[age]


def uniform(largest: int) -> np.ndarray:
    """Return equal probabilities of the ages 0, ..., m."""
    return np.full(largest + 1, 1 / (largest + 1))


def geometric(average: float, largest: int) -> np.ndarray:
    """Return probabilities in proportion to (a / (1 + a))^k."""
    weights = (average / (1 + average)) ** np.arange(largest + 1)
    return weights / weights.sum()
