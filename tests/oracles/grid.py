"""Stationary second moments of one-dimensional schemes on any potential, by quadrature on a grid.

A step's noise is Gaussian, so its transition density is known and smooth: the trapezoidal rule and
Fourier shifts are exact to rounding once the grid resolves it and reaches the tails.
"""

from collections.abc import Callable

import numpy as np

Gradient = Callable[[np.ndarray], np.ndarray]
WIDTH = 0.2
AXES = tuple(np.arange(-n, n) * WIDTH for n in (90, 45))
"""Positions and momenta of the underdamped schemes."""


def langevin(gradient: Gradient, h: float, reach: float = 18.0) -> float:
    """Return E z^2 of z <- z - h U'(z) + sqrt(2 h) noise."""
    z = np.linspace(-reach, reach, int(4 * reach / np.sqrt(2 * h)))
    z_next = z[:, None]
    step = np.exp(-((z_next - z + h * gradient(z)) ** 2) / (4 * h))
    step /= step.sum(0)
    weights = np.exp(-(z**2))
    # Squaring 12 times takes 4,096 steps at once.
    weights = np.linalg.matrix_power(step, 2**12) @ weights
    return float(weights @ z**2 / weights.sum())


def splitting(gradient: Gradient, h: float, friction: float) -> float:
    """Return E z^2 of drift, damp, kick, damp, drift, which is seen between its two drifts."""
    damp = np.exp(-friction * h / 2)
    return _underdamped(gradient, h, friction, damp**2, damp, h / 2)


def hamiltonian(gradient: Gradient, h: float, friction: float) -> float:
    """Return E z^2 of the semi-implicit Euler steps, seen before z moves."""
    return _underdamped(gradient, h, friction, 1 - friction * h, 1.0, h)


def exact_friction(gradient: Gradient, h: float, friction: float) -> float:
    """Return E z^2 of kicks between exact flights, seen before the kick.

    A flight is a drift for the time tanh(D h / 2) / D, damping with its noise, the same drift, and
    noise of the position alone.
    """
    q, p = AXES
    damp, drift = np.exp(-friction * h), np.tanh(friction * h / 2) / friction
    spread = 2 / friction**2 * (friction * h - 2 * friction * drift)
    mix = _mixing(p, damp, 1 - damp**2)
    wave_q, wave_p = _waves()
    kick = np.exp(wave_p * h * gradient(q)[:, None])
    blur = np.exp(wave_q[:, None] ** 2 * spread / 2)
    move = np.exp(-wave_q[:, None] * drift * p)
    weights = np.exp(-(q[:, None] ** 2 + p**2) / 2)
    for _ in range(int(25 / h)):
        weights = _times(move, _times(kick, weights, axis=1), axis=0) @ mix.T
        weights = _times(move * blur, weights, axis=0)
        weights /= weights.sum()
    return float((weights.sum(1) * q**2).sum())


def _underdamped(
    gradient: Gradient, h: float, friction: float, keep: float, load: float, lag: float
) -> float:
    """Return E (q + lag p)^2, stationary under p <- keep p + load k(q), q <- q + h p.

    k(q) = -h U'(q) + sqrt(2 D h) noise.
    """
    q, p = AXES
    mix = _mixing(p, keep, 2 * friction * h * load**2)
    wave_q, wave_p = _waves()
    kick = np.exp(wave_p * load * h * gradient(q)[:, None])
    drift = np.exp(-wave_q[:, None] * h * p)
    weights = np.exp(-(q[:, None] ** 2 + p**2) / 2)
    for _ in range(int(25 / h)):
        before_drift = _times(kick, weights @ mix.T, axis=1)
        weights = _times(drift, before_drift, axis=0)
        weights /= weights.sum()
    position = q[:, None] + lag * p
    return float((before_drift * position**2).sum() / before_drift.sum())


def _waves() -> list[np.ndarray]:
    """Return i times the angular frequencies of positions and momenta."""
    return [2j * np.pi * np.fft.rfftfreq(x.size, WIDTH) for x in AXES]


def _times(factor: np.ndarray, weights: np.ndarray, axis: int) -> np.ndarray:
    """Return the weights with their Fourier transform multiplied by a factor."""
    return np.fft.irfft(factor * np.fft.rfft(weights, axis=axis), weights.shape[axis], axis)


def _mixing(p: np.ndarray, keep: float, variance: float) -> np.ndarray:
    mix = np.exp(-((p[:, None] - keep * p) ** 2) / (2 * variance))
    return mix / mix.sum(0)
