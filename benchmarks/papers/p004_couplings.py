"""Linear regression of Brosse et al. (2018), section 3.1: exact moments of coupled chains.

One dimension: y_i ~ N(x_i theta, 1), theta ~ N(0, 1). About the mode, a step of each chain is

    e <- (1 - g (S + r)) e - g a + sqrt(2 g) Z,

with S the curvature, r and a the minibatch's noise (none for LMC, a = 0 for SGLDFP) and Z = 0 for
SGD. Two chains that share minibatches and Z are a coupling, so that E |e - e'|^2 bounds the squared
Wasserstein distance from above; (sd - sd')^2 bounds it from below, whatever the laws' shapes.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from tests.oracles import linear

BATCH = 10
"""The paper does not give its minibatch size p."""


class Regression(NamedTuple):
    """The posterior N(mode, 1 / curvature), the noise's second moments, and the paper's constants.

    Attributes:
        mode: theta*.
        curvature: S, which is also the constant m of strong convexity.
        slope: E r^2.
        offset: E a^2.
        lipschitz: L = (N + 1) max U_i''.
    """

    mode: float
    curvature: float
    slope: float
    offset: float
    lipschitz: float

    def keep(self, g: float) -> float:
        """Return q: chains with the same noise that are d apart are q d^2 apart in mean square."""
        return (1 - g * self.curvature) ** 2 + g**2 * self.slope

    def spread(self, method: str, g: float, steps: float) -> float:
        """Return E e^2 after some steps from the mode; `steps` may be infinite."""
        q = (1 - g * self.curvature) ** 2 if method == "LMC" else self.keep(g)
        added = 0.0 if method == "SGD" else 2 * g
        if method in ("SGLD", "SGD"):
            added += g**2 * self.offset
        return added * (1 - q**steps) / (1 - q)

    def apart(self, pair: str, g: float, steps: int) -> float:
        """Return E |e - e'|^2 of a coupled pair after some steps from the mode."""
        q = self.keep(g)
        if pair == "SGLD, SGD":
            return 2 * g * (1 - q**steps) / (1 - q)
        # LMC, SGLDFP: the difference shrinks as LMC does, and SGLDFP's noise r e' adds to it.
        free = (1 - g * self.curvature) ** 2
        late = 2 * g / (1 - q)
        settled = (1 - free**steps) / (1 - free)
        transient = (q**steps - free**steps) / (q - free)
        return g**2 * self.slope * late * (settled - transient)


@cache
def data(rows: int, most: int = 100_000) -> tuple[np.ndarray, np.ndarray]:
    """Return the first rows of one data set, design (N, 1, 1) and response (N, 1)."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=most)
    y = x * rng.normal() + rng.normal(size=most)
    return x[:rows, None, None], y[:rows, None]


@cache
def regression(rows: int) -> Regression:
    """Return the model of the first rows."""
    design, y = data(rows)
    post = linear.posterior(design, y, np.ones(1))
    noise = post.noise(BATCH)
    slope = noise.weight * float(np.mean(noise.linear**2))
    largest = max(1.0, float((design**2).max()))
    curvature, offset = float(post.hessian[0, 0]), float(noise.at_mode[0, 0])
    return Regression(float(post.mode[0]), curvature, slope, offset, (rows + 1) * largest)
