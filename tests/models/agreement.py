"""What every model must satisfy: unbiased minibatch potentials, and draws inside their support."""

from collections.abc import Callable
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpyro import handlers
from numpyro.infer import MCMC
from numpyro.infer.util import potential_energy

from numpyro_sgmcmc.model import over_whole_data, read_structure, stochastic_potential
from numpyro_sgmcmc.types import Minibatch

BLOCK_SIZE = 5
"""Small and no divisor of any plate's size, so that blocks leave a remainder."""


def assert_unbiased(
    model: Callable,
    *args: Any,
    batch: Any,
    exact_energy: Callable = potential_energy,
    **kwargs: Any,
) -> None:
    """Check U and grad U against NumPyro's `potential_energy` of the model with `batch=None`.

    At a random position: the mean over all minibatches of a single row (a row of each plate), and
    the sum over blocks. Exact identities: the tolerance is float32's rounding.
    """
    subsampled = kwargs | {"batch": batch}
    structure = read_structure(model, args, subsampled)
    assert structure.plates
    estimate = jax.value_and_grad(stochastic_potential(structure, args, subsampled))
    position = 0.5 * jax.random.normal(jax.random.key(11), (structure.dimension,))

    @jax.jit
    def exact(position: jax.Array) -> tuple[jax.Array, jax.Array]:
        whole = kwargs | {"batch": None}
        arrays = jax.tree.map(jnp.asarray, args)  # NumPy's cannot be indexed under `jit`
        return jax.value_and_grad(
            lambda z: exact_energy(model, arrays, whole, structure.unravel(z))
        )(position)

    @jax.jit
    def over_single_rows(position: jax.Array) -> tuple[jax.Array, jax.Array]:
        sizes = [range(plate.size) for plate in structure.plates.values()]
        rows = jnp.array(list(product(*sizes)), jnp.int32)
        indices = {name: rows[:, [k]] for k, name in enumerate(structure.plates)}
        values = jax.vmap(lambda row: estimate(position, Minibatch(row)))(indices)
        return jax.tree.map(lambda x: x.mean(0), values)

    @jax.jit
    def over_blocks(position: jax.Array) -> tuple[jax.Array, jax.Array]:
        return over_whole_data(
            structure, lambda rows: estimate(position, Minibatch(rows)), BLOCK_SIZE
        )

    energy, gradient = exact(position)
    assert np.isfinite(energy) and np.isfinite(gradient).all()
    for found in (over_single_rows(position), over_blocks(position)):
        np.testing.assert_allclose(found[0], energy, rtol=2e-5)
        np.testing.assert_allclose(
            found[1], gradient, rtol=2e-4, atol=2e-5 * np.abs(gradient).max()
        )


def run(
    kernel: Any, *args: Any, warmup: int = 10, draws: int = 40, chains: int = 1, **kwargs: Any
) -> MCMC:
    """Return a finished run."""
    mcmc = MCMC(
        kernel,
        num_warmup=warmup,
        num_samples=draws,
        num_chains=chains,
        chain_method="vectorized",
        progress_bar=False,
    )
    init_params = kwargs.pop("init_params", None)
    mcmc.run(jax.random.key(5), *args, init_params=init_params, **kwargs)
    return mcmc


def assert_moving_inside(mcmc: MCMC, model: Callable, *args: Any, **kwargs: Any) -> dict:
    """Check that draws are finite, differ, and that each latent one is in its site's support.

    The support is the one given the draw's other sites (`kwargs` without subsampling).
    """
    draws = mcmc.get_samples()
    # NumPy's arrays cannot be indexed under `jit`.
    arrays = jax.tree.map(lambda x: jnp.asarray(x) if isinstance(x, np.ndarray) else x, args)
    assert not mcmc.get_extra_fields()["diverging"].any()

    def inside(draw: dict[str, jax.Array]) -> dict[str, jax.Array]:
        seeded = handlers.seed(handlers.substitute(model, data=draw), jax.random.key(0))
        trace = handlers.trace(seeded).get_trace(*arrays, **kwargs)
        return {
            name: jnp.all(site["fn"].support(site["value"]))
            for name, site in trace.items()
            if site["type"] == "sample" and not site["is_observed"]
        }

    latent = jax.jit(jax.vmap(inside))(draws)
    assert latent.keys() <= draws.keys()
    for name, values in latent.items():
        assert values.all(), f"draws of {name!r} outside the support"
        assert np.isfinite(draws[name]).all()
        assert (np.ptp(np.asarray(draws[name]), axis=0) > 0).any(), f"{name!r} does not move"
    return draws


def check_volume(structure: Any, placed: Any, position: jax.Array) -> None:
    """Check that the log volume of coordinates is that of their map's Jacobian."""
    matrix = jax.jacobian(lambda y: structure.ravel(placed.unravel(y)))(position)
    sign, expected = np.linalg.slogdet(np.asarray(matrix, np.float64))
    assert sign == 1
    np.testing.assert_allclose(placed.placed(position)[1], expected, rtol=1e-4)


def check_scale(images: list, values: dict[str, jax.Array], scale: Any) -> None:
    """Check that the model computes s x for its six effects x, with this s; None if it does not."""
    if scale is None:
        assert images == []
        return
    (image,) = images
    location, own, moved, stretched = image.location_and_scale(values)
    np.testing.assert_array_equal([location, own, moved], np.repeat([[0], [1], [0]], 6, axis=1))
    np.testing.assert_allclose(stretched, np.full(6, scale), rtol=1e-6)
