"""Stationary covariance of each dynamics on a quadratic potential.

On U = (z - m)' H (z - m) / 2 with gradient H (z - m) + error, a step is affine in the state
x = (z - m, p):

    x <- free x + kick (H look x + error) + heat dW,    dW ~ N(0, T h I)

`look` maps the state to the position of the gradient. Its mean tends to 0, its covariance M solves

    M = A M A' + kick E[error error'] kick' + T h heat heat',    A = free + kick H look,

a discrete Lyapunov equation if the error's covariance V does not depend on z. If the error is
a + D look x (Brosse, Durmus and Moulines 2018, equation 6 and theorem 7), E[error error'] is
V + weight * mean over rows of D_i look M look' D_i', which is still linear in M. With S the
preconditioner, z = S y, and p belongs to y.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag, expm, solve_discrete_lyapunov

from tests.oracles.linear import Noise


class Recursion(NamedTuple):
    """The matrices of x <- free x + kick (gradient at look x) + heat dW."""

    free: np.ndarray
    kick: np.ndarray
    heat: np.ndarray
    look: np.ndarray

    def transition(self, hessian: np.ndarray) -> np.ndarray:
        """Return A = free + kick H look."""
        return self.free + self.kick @ hessian @ self.look


def langevin(h: float, s: np.ndarray, friction: float) -> Recursion:
    """z <- z - h S S' g + sqrt(2) S dW: from y <- y - h S' g + sqrt(2) dW times S."""
    eye = np.eye(len(s))
    return Recursion(eye, -h * s @ s.T, np.sqrt(2) * s, eye)


def hamiltonian(h: float, s: np.ndarray, friction: float) -> Recursion:
    """p <- (1 - D h) p + k, then z <- z + h S p with the new p; k = -h S' g + sqrt(2 D) dW.

    So z <- z + h (1 - D h) S p + h S k.
    """
    eye = np.eye(len(s))
    keep = 1 - friction * h
    free = np.block([[eye, h * keep * s], [0 * eye, keep * eye]])
    load = np.vstack([h * s, eye])
    return Recursion(free, -h * load @ s.T, np.sqrt(2 * friction) * load, np.hstack([eye, 0 * eye]))


def splitting(h: float, s: np.ndarray, friction: float) -> Recursion:
    """Drift h/2, damp h/2, kick h, damp h/2, drift h/2, with e = exp(-D h / 2).

    p <- e (e p + k) with k = -h S' g(z + S p h / 2) + sqrt(2 D) dW, and
    z <- z + (h / 2) S (p_old + p_new) = z + (h / 2) (1 + e^2) S p + (h / 2) e S k.
    """
    eye = np.eye(len(s))
    e = np.exp(-friction * h / 2)
    free = np.block([[eye, h / 2 * (1 + e**2) * s], [0 * eye, e**2 * eye]])
    load = e * np.vstack([h / 2 * s, eye])
    look = np.hstack([eye, h / 2 * s])
    return Recursion(free, -h * load @ s.T, np.sqrt(2 * friction) * load, look)


def exact_friction(h: float, s: np.ndarray, friction: float) -> Recursion:
    """Kick h, then the exact transition of dz = S p dt, dp = -D p dt + sqrt(2 D) dW.

    In units of h for time and for y = S^-1 z, the transition of (W, y, p) is exp(G), and the
    covariance of its noise follows from the exponential of a matrix of twice the size (Van Loan
    1978). The first increment is that of W. The second is what is left of the noise of p; the
    noise of y is a combination of both.
    """
    eye = np.eye(len(s))
    drift = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, -friction * h]])
    load = np.array([[1.0], [0.0], [1.0]])
    both = expm(np.block([[-drift, load @ load.T], [0 * drift, drift.T]]))
    flight = both[3:, 3:].T
    covariance = flight @ both[:3, 3:]
    root = np.linalg.cholesky(covariance[::2, ::2])
    root = np.array([np.linalg.solve(root, covariance[::2, 1]), root[1]])
    units = np.diag([h, 1.0])
    flight, root = units @ flight[1:, 1:] / np.diag(units), np.sqrt(2 * friction) * units @ root
    in_z = block_diag(s, eye)
    free = in_z @ np.kron(flight, eye) @ np.linalg.inv(in_z)
    kick = -h * free[:, len(s) :] @ s.T
    return Recursion(free, kick, in_z @ np.kron(root, eye), np.hstack([eye, 0 * eye]))


DYNAMICS = {
    "langevin": langevin,
    "hamiltonian": hamiltonian,
    "splitting": splitting,
    "exact friction": exact_friction,
}


def stationary_covariance(
    recursion: Recursion, hessian: np.ndarray, noise: Noise, h: float, temperature: float = 1.0
) -> np.ndarray:
    """Return M, whatever the noise; raise where the second moment does not settle."""
    a, kick, look = recursion.transition(hessian), recursion.kick, recursion.look
    added = kick @ noise.at_mode @ kick.T + temperature * h * recursion.heat @ recursion.heat.T
    if noise.is_additive:
        assert np.abs(np.linalg.eigvals(a)).max() < 1, "unstable"
        return solve_discrete_lyapunov(a, added)
    # vec(M) = (A x A + weight mean_i F_i x F_i) vec(M) + vec(added), with F_i = kick D_i look.
    n = len(a)
    rows = kick @ noise.linear @ look
    spread = noise.weight * np.einsum("nij,nkl->ikjl", rows, rows) / len(rows)
    operator = np.kron(a, a) + spread.reshape(n * n, n * n)
    assert np.abs(np.linalg.eigvals(operator)).max() < 1, "unstable"
    return np.linalg.solve(np.eye(n * n) - operator, added.ravel()).reshape(n, n)


def pair_covariance(
    build, hessian: np.ndarray, noise: Noise, h: float, temperature: float = 1.0
) -> np.ndarray:
    """Return the joint covariance of Richardson-Romberg's (coarse x, fine x, halfway x).

    `build(h)` is a walker's recursion. With increments w1, w2 ~ N(0, T h / 2 I) that the walkers
    share and independent errors e0, e1, e2, subscript f at h / 2:

        coarse  <- A coarse + heat (w1 + w2) + kick e0
        halfway <- A_f fine + heat_f w1 + kick_f e1
        fine    <- A_f halfway + heat_f w2 + kick_f e2

    Additive noise only.
    """
    assert noise.is_additive
    coarse, fine = build(h), build(h / 2)
    a, b = coarse.transition(hessian), fine.transition(hessian)
    zero = np.zeros_like(a)
    step = np.block([[a, zero, zero], [zero, b @ b, zero], [zero, b, zero]])
    cold = np.zeros_like(fine.heat)
    heat = np.block([[coarse.heat, coarse.heat], [b @ fine.heat, fine.heat], [fine.heat, cold]])
    calm = np.zeros_like(fine.kick)
    kick = np.block(
        [
            [coarse.kick, calm, calm],
            [calm, b @ fine.kick, fine.kick],
            [calm, fine.kick, calm],
        ]
    )
    errors = block_diag(*[noise.at_mode] * 3)
    added = kick @ errors @ kick.T + temperature * h / 2 * heat @ heat.T
    assert np.abs(np.linalg.eigvals(step)).max() < 1, "unstable"
    return solve_discrete_lyapunov(step, added)
