"""Models with discrete latent sites, small enough to sum over all assignments of their states."""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro import handlers

TABLE = 1.5 * jax.random.normal(jax.random.key(3), (4, 2))


def mixture(table, batch):
    """Three components."""
    weights = numpyro.sample("weights", dist.Dirichlet(jnp.ones(3)))
    with numpyro.plate("component", 3):
        mean = numpyro.sample("mean", dist.Normal(0.0, 2.0))
    with numpyro.plate("rows", table.shape[0], subsample_size=batch) as i:
        z = numpyro.sample("z", dist.Categorical(weights))
        numpyro.sample("y", dist.Normal(mean[z], 0.5), obs=table[i, 0])


def chain(table, batch):
    """Three latents in a row, each of which depends on the one before, and a `factor`."""
    stay = numpyro.sample("stay", dist.Beta(2.0, 2.0))
    with numpyro.plate("rows", table.shape[0], subsample_size=batch) as i:
        z = 0
        for t in range(3):
            z = numpyro.sample(
                f"z{t}",
                dist.Bernoulli(jnp.where(z == 1, stay, 1 - stay)),
                infer={"enumerate": "parallel"},
            )
            if t != 1:
                numpyro.sample(f"y{t}", dist.Normal(2.0 * z, stay), obs=table[i, t // 2])
        numpyro.factor("last", -0.3 * z * stay)


def nested(table, batch):
    """A latent of a row, and latents of its entries that depend on it, in a whole plate inside."""
    shift = numpyro.sample("shift", dist.Normal(1.0, 1.0))
    with numpyro.plate("rows", table.shape[0], subsample_size=batch, dim=-2) as i:
        z = numpyro.sample("z", dist.Bernoulli(0.3))
        with numpyro.plate("entry", 2, dim=-1):
            u = numpyro.sample("u", dist.Bernoulli(jnp.where(z == 1, 0.8, jax.nn.sigmoid(shift))))
            numpyro.sample("y", dist.Normal(shift * u - z, 1.0), obs=table[i])


def outside(table, batch):
    """A latent outside, on which a continuous site depends but no row; and one in each row."""
    which = numpyro.sample("which", dist.Categorical(jnp.array([0.2, 0.5, 0.3])))
    level = numpyro.sample("level", dist.Normal(jnp.array([-2.0, 0.0, 2.0])[which], 0.5))
    numpyro.sample("prior_data", dist.Normal(which, 1.0), obs=jnp.array(0.7))
    with numpyro.plate("rows", table.shape[0], subsample_size=batch) as i:
        z = numpyro.sample("z", dist.Bernoulli(0.4))
        numpyro.sample("y", dist.Normal(level * z, 1.0), obs=table[i, 0])


def crossed(table, batch):
    """A latent in each cell of two subsampled plates."""
    level = numpyro.sample("level", dist.Normal(0.0, 1.0))
    with (
        numpyro.plate("rows", table.shape[0], subsample_size=batch, dim=-2) as i,
        numpyro.plate("columns", 2, subsample_size=None if batch is None else 1, dim=-1) as j,
    ):
        z = numpyro.sample("z", dist.Bernoulli(0.4))
        numpyro.sample("y", dist.Normal(level * z, 1.0), obs=table[i[:, None], j])


def handled(table, batch):
    """A scale and a mask of the user's, states that do not begin at 0, and a site in two plates."""
    level = numpyro.sample("level", dist.LogNormal(0.0, 1.0))
    rows = numpyro.plate("rows", table.shape[0], subsample_size=batch)
    with rows as i:
        z = numpyro.sample("z", dist.DiscreteUniform(1, 3))
        with handlers.scale(scale=0.5), handlers.mask(mask=table[i, 0] > -1):
            numpyro.sample("x", dist.Normal(level * z, 1.0), obs=table[i, 0])
    with rows as i:
        u = numpyro.sample("u", dist.Binomial(2, 0.3))
        numpyro.sample(
            "y", dist.Normal(level * (u - 1), 1.0).mask(table[i, 1] > 0), obs=table[i, 1]
        )


def in_whole_plate(table, batch):
    """Latents of groups in a whole plate, with observations in the same plate; rows apart."""
    level = numpyro.sample("level", dist.Normal(0.0, 1.0))
    with numpyro.plate("group", 3):
        z = numpyro.sample("z", dist.Bernoulli(0.5))
        numpyro.sample("x", dist.Normal(level + z, 1.0), obs=jnp.array([0.1, 1.2, -0.3]))
    with numpyro.plate("rows", table.shape[0], subsample_size=batch) as i:
        numpyro.sample("y", dist.Normal(level, 1.0), obs=table[i, 0])


def single_state(table, batch):
    """One site has one state."""
    level = numpyro.sample("level", dist.Normal(0.0, 1.0))
    with numpyro.plate("rows", table.shape[0], subsample_size=batch) as i:
        one = numpyro.sample("one", dist.Categorical(jnp.ones(1)))
        z = numpyro.sample("z", dist.Bernoulli(0.5))
        numpyro.sample("y", dist.Normal(level * z + one, 1.0), obs=table[i, 0])


STATES = {
    mixture: {"z": [0, 1, 2]},
    chain: {"z0": [0, 1], "z1": [0, 1], "z2": [0, 1]},
    nested: {"z": [0, 1], "u": [0, 1]},
    outside: {"which": [0, 1, 2], "z": [0, 1]},
    crossed: {"z": [0, 1]},
    handled: {"z": [1, 2, 3], "u": [0, 1, 2]},
    in_whole_plate: {"z": [0, 1]},
    single_state: {"one": [0], "z": [0, 1]},
}
"""The states of the discrete sites of each model."""
