"""Exact covariances of SGHMC on a Gaussian, where the age of each gradient is given."""

from dataclasses import dataclass
from typing import final

import numpy as np


@final
@dataclass(frozen=True)
class Recursion:
    """SGHMC about the mode, direction by direction, with F = (lambda - c) x_then + c x_now.

        p <- (1 - D h - b h^2) p - h (F + N(0, V)) + N(0, 2 D h),    x <- x + h p

    Attributes:
        curvature: lambda, (d,).
        noise: V, (d,).
        step_size: h.
        friction: D.
        known: c, the curvature with which gradients are corrected, (d,) or a number.
        damping: b, friction for each unit of step size, (d,) or a number.
    """

    curvature: np.ndarray
    noise: np.ndarray
    step_size: float
    friction: float
    known: np.ndarray | float = 0.0
    damping: np.ndarray | float = 0.0

    def covariances(self, ages: np.ndarray, every: int) -> np.ndarray:
        """Return cov(x_k, x_l) for k, l = every, 2 every, ..., as (K, K, d), lower triangle.

        x_0 ~ N(0, 1 / lambda), p_0 ~ N(0, 1). A row holds one variable's covariances with the last
        m + 1 positions, each at its place in a ring, and with the positions that are kept.
        """
        h, kept = self.step_size, len(ages) // every
        ring, d = int(ages.max()) + 1, len(self.curvature)
        rows, momentum = np.zeros((ring, d, ring + kept)), np.zeros((d, ring + kept))
        rows[0, :, 0], spread = 1 / self.curvature, np.ones(d)
        found = np.zeros((kept, kept, d))
        keep = 1 - self.friction * h - self.damping * h**2
        old = self.curvature - self.known
        for step, age in enumerate(ages):
            now, then = step % ring, (step - min(age, step)) % ring
            force = old[:, None] * rows[then] + np.reshape(self.known, (-1, 1)) * rows[now]
            of_force = old * force[:, then] + self.known * force[:, now]
            both = old * momentum[:, then] + self.known * momentum[:, now]
            spread = keep * (keep * spread - 2 * h * both) + h**2 * (of_force + self.noise)
            spread = spread + 2 * self.friction * h
            momentum = np.reshape(keep, (-1, 1)) * momentum - h * force
            position = rows[now] + h * momentum
            variance = position[:, now] + h * (momentum[:, now] + h * spread)
            mixed = momentum[:, now] + h * spread
            places = [(step + 1) % ring]
            if (step + 1) % every == 0:
                places.append(ring + (step + 1) // every - 1)
            rows[places[0]] = position
            for place in places:
                rows[:, :, place] = position[:, :ring].T
                rows[places[0], :, place] = variance
                momentum[:, place] = mixed
            if len(places) > 1:
                row = places[1] - ring
                found[row, : row + 1] = rows[places[0], :, ring : ring + row + 1].T
        return found


def of_averages(
    covariances: np.ndarray, gradient: np.ndarray, curvature: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance of averages of g'x + x'G x / 2 over the first 1, ..., K positions.

    x is Gaussian with mean 0, its directions are independent and G is diagonal:
    cov(phi_k, phi_l) = sum over directions of g^2 C(k, l) + G^2 C(k, l)^2 / 2.
    """
    count = np.arange(1, len(covariances) + 1)
    each = covariances @ gradient**2 + covariances**2 @ (curvature**2 / 2)
    own = np.diagonal(each)
    total = np.cumsum(2 * np.tril(each, -1).sum(1) + own)
    mean = np.einsum("kkd,d->k", covariances, curvature / 2)
    return np.cumsum(mean) / count, total / count**2
