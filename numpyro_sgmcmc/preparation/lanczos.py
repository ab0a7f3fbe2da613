"""The method of Lanczos (1950) for a symmetric map."""

from collections.abc import Callable

import jax
import jax.numpy as jnp


def lanczos(
    product: Callable[[jax.Array], jax.Array], start: jax.Array, steps: int
) -> tuple[jax.Array, jax.Array]:
    """Return Ritz values, ascending, (steps,), and their vectors as rows, (steps, d).

    Each vector is made orthogonal to all before it, twice, because rounding undoes it otherwise.
    """
    values, vectors, basis = _ritz(product, start, steps)
    return values, vectors.T @ basis


def quadrature(
    product: Callable[[jax.Array], jax.Array], start: jax.Array, steps: int
) -> tuple[jax.Array, jax.Array]:
    """Return nodes and weights of start' f(A) start for the symmetric map A (Golub, Welsch 1969).

    They are exact for polynomials f of degree below 2 steps.
    """
    values, vectors, _ = _ritz(product, start, steps)
    return values, vectors[0] ** 2 * jnp.sum(start**2)


def _ritz(
    product: Callable[[jax.Array], jax.Array], start: jax.Array, steps: int
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return Ritz values, eigenvectors of the tridiagonal matrix as columns, and its basis."""
    tiny = jnp.finfo(start.dtype).tiny

    def body(i: jax.Array, carry: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        basis, vector, own, next_to = carry
        basis = basis.at[i].set(vector)
        image = product(vector)
        own = own.at[i].set(vector @ image)
        for _ in range(2):
            image = image - (basis @ image) @ basis
        length = jnp.linalg.norm(image)
        return basis, image / jnp.maximum(length, tiny), own, next_to.at[i].set(length)

    zeros = jnp.zeros(steps, start.dtype)
    unit = start / jnp.maximum(jnp.linalg.norm(start), tiny)
    first = jnp.zeros((steps, start.size), start.dtype), unit
    basis, _, own, next_to = jax.lax.fori_loop(0, steps, body, (*first, zeros, zeros))
    beside = jnp.diag(next_to[:-1], 1)
    values, vectors = jnp.linalg.eigh(jnp.diag(own) + beside + beside.T)
    return values, vectors, basis
