"""Linear-Gaussian models: what their minibatch gradients are, exactly.

y_i ~ N(X_i theta, scale^2) with theta ~ N(0, I). Row i adds K_i theta - c_i to the gradient, with
K_i = X_i' X_i / scale^2 and c_i = X_i' y_i / scale^2. So grad U(z) = H (z - m) with
H = I + sum K_i and m = H^-1 sum c_i, and a minibatch's error of it, at z = m + delta, is the mean
over the B rows of a_i + D_i delta with

    D_i = N K_i - sum K,    a_i = N (K_i m - c_i) - its mean                (plain)
                            a_i = D_i (m - anchor)                            (fixed point)

The covariance of a mean of B rows is that of one row over B with replacement, and that times
(N - B) / (N - 1) without. Where every X_i is the same, D_i = 0: the noise does not depend on z, and
a fixed-point gradient has none.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist


def model(design, y, scale, subsample_size=None):
    """The NumPyro model; design (N, k, d), y (N, k), scale (k,)."""
    theta = numpyro.sample("theta", dist.Normal(0.0, 1.0).expand([design.shape[2]]).to_event(1))
    with numpyro.plate("rows", design.shape[0], subsample_size=subsample_size) as rows:
        mean = jnp.einsum("nkd,d->nk", design[rows], theta)
        numpyro.sample("y", dist.Normal(mean, scale).to_event(1), obs=y[rows])


class Noise(NamedTuple):
    """Error of a minibatch gradient: weight * covariance over rows of a_i + D_i delta."""

    constant: np.ndarray
    linear: np.ndarray
    weight: float

    @property
    def at_mode(self) -> np.ndarray:
        """Covariance V of the error at the mode, (d, d)."""
        return self.weight * self.constant.T @ self.constant / len(self.constant)

    @property
    def is_additive(self) -> bool:
        """Whether the error does not depend on the position."""
        return not self.linear.any()


class Posterior(NamedTuple):
    """The exact posterior N(mode, hessian^-1), and the rows it is made of."""

    mode: np.ndarray
    hessian: np.ndarray
    row_hessians: np.ndarray
    row_offsets: np.ndarray

    def noise(self, batch: int | None, *, replace: bool = True, anchor=None) -> Noise:
        """Return the gradient noise; `batch` None is the full gradient."""
        n = len(self.row_offsets)
        linear = n * self.row_hessians - self.row_hessians.sum(0)
        linear[np.abs(linear) < 1e-9 * np.abs(self.hessian).max()] = 0.0
        if anchor is None:
            constant = n * (self.row_hessians @ self.mode - self.row_offsets)
            constant = constant - constant.mean(0)
        else:
            constant = linear @ (self.mode - anchor)
        weight = 0.0 if batch is None else 1 / batch
        if not replace and batch is not None:
            weight *= (n - batch) / (n - 1)
        return Noise(constant, linear, weight)


def posterior(design, y, scale) -> Posterior:
    """Return the posterior of the model above, in double precision."""
    design, y, scale = (np.asarray(x, np.float64) for x in (design, y, scale))
    scaled = design / scale[:, None]
    row_hessians = np.einsum("nki,nkj->nij", scaled, scaled)
    row_offsets = np.einsum("nki,nk->ni", scaled, y / scale)
    hessian = np.eye(design.shape[2]) + row_hessians.sum(0)
    mode = np.linalg.solve(hessian, row_offsets.sum(0))
    return Posterior(mode, hessian, row_hessians, row_offsets)
