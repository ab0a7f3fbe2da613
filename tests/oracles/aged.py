"""Variance of the position with gradients of known ages, one a transition, in one dimension.

The state X = (x, queries of the last m transitions) follows X <- A_l X + noise, where A_l depends
on the age of the gradient of transition l. Its second moment is followed through all of them.
"""

import numpy as np

from tests.oracles.recursion import DYNAMICS
from tests.oracles.stale import matrix


def second_moments(
    dynamics, h, curvature, ages, *, friction=1.5, known=0.0, damping=0.0, noise=0.0, start=1.0
):
    """Return E x^2 after each transition, (transition,), from x and p ~ N(0, start).

    `known` is the curvature that a correction assumes. `damping` c adds h c times the age of a
    transition's own gradient to its friction, and leaves the noise as it is.
    """
    ages = np.asarray(ages)
    largest = int(ages.max())
    steps = {}
    for age in np.unique(ages):
        total = friction + h * damping * age
        recursion = DYNAMICS[dynamics](h, np.eye(1), total)
        if dynamics != "langevin":
            recursion = recursion._replace(heat=recursion.heat * np.sqrt(friction / total))
        a = matrix(recursion, curvature, int(age), largest, known)
        load = np.zeros((1 + recursion.heat.shape[1], len(a)))
        size = len(recursion.free)
        load[1:, :size] = np.sqrt(h) * recursion.heat.T
        load[0, :size] = np.sqrt(noise) * recursion.kick[:, 0]
        steps[int(age)] = a, load.T @ load
    second = np.zeros_like(steps[int(ages[0])][0])
    size = len(second) - largest
    second[:size, :size] = start * np.eye(size)
    found = []
    for age in ages:
        a, q = steps[int(age)]
        second = a @ second @ a.T + q
        found.append(second[0, 0])
    return np.array(found)
