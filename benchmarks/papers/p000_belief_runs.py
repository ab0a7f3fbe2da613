"""Samplers of a sigmoid belief network: SGHMC by splitting and Euler, SGLD, and NUTS."""

from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpyro.infer import MCMC, NUTS

from benchmarks.papers.annealed_importance import Network, ladder, of_draws
from benchmarks.papers.chosen import Chosen
from benchmarks.papers.latent_runs import chain
from benchmarks.papers.p000_belief import drawn, images, log_probabilities, model, summed
from numpyro_sgmcmc import Hamiltonian, Langevin, Splitting
from numpyro_sgmcmc.latents import PlainAtLatents, first_state
from numpyro_sgmcmc.model import read_structure, stochastic_potential
from numpyro_sgmcmc.preconditioner import Identity
from numpyro_sgmcmc.transition import Transition

NAMES = ("splitting", "hamiltonian", "langevin")
RUNS = 8
"""Runs of annealed importance sampling for each image and draw. Their spread gives the error."""


class Size(NamedTuple):
    """Sizes of an experiment.

    Attributes:
        name: of the images.
        units: hidden units.
        test: images to test.
        batch: images in a minibatch.
        steps: transitions of a chain.
        kept: draws of its second half.
        chains: chains.
        powers: powers of the likelihood in annealed importance sampling.
    """

    name: str
    units: int
    test: int
    batch: int
    steps: int
    kept: int
    chains: int
    powers: int


class Scores(NamedTuple):
    """Mean of -log p(v | parameters) over draws and test images, by chain.

    Attributes:
        annealed: by annealed importance sampling, (chains,).
        summed: by sums over all hidden states, for the same draws, (chains,).
        error: standard error of the mean over chains of the first, given the draws, ().
    """

    annealed: np.ndarray
    summed: np.ndarray
    error: float


def dynamics(name: jax.Array, h: jax.Array, friction: jax.Array) -> Any:
    """Return the dynamics of a place in `NAMES`, with D = friction / sqrt(h) as in the paper."""
    own = friction / jnp.sqrt(h)
    return Chosen((Splitting(own), Hamiltonian(own), Langevin()), name)


@cache
def potential_of(size: Size) -> Any:
    """Return the joint potential of the parameters and all hidden units."""
    args = jnp.asarray(images(size.name, size.test).training), size.units, size.batch
    return stochastic_potential(read_structure(model, args, {}), args, {})


def network_of(size: Size, position: jax.Array) -> Network:
    """Return parameters from flat positions (..., d)."""
    structure = potential_of(size).structure
    unravel = structure.unravel
    for _ in position.shape[:-1]:
        unravel = jax.vmap(unravel)
    return Network(**unravel(position))


@cache
def sampler(size: Size) -> Any:
    """Return the function that runs chains of a sampler.

    Its arguments are the place in `NAMES`, h, the friction, keys and starts; it returns draws,
    numbers of diverging transitions, and shares of hidden units that a visit changes.
    """
    potential = potential_of(size)

    def run(
        name: jax.Array,
        h: jax.Array,
        friction: jax.Array,
        key: jax.Array,
        start: jax.Array,
        hidden: jax.Array,
    ) -> tuple[jax.Array, ...]:
        rows = len(hidden)
        nothing = jnp.zeros((rows, 0)), jnp.zeros((rows, 0, 0)), jnp.ones(())
        state = first_state(potential, start, *nothing, hidden, has_table=False)
        transition = Transition(dynamics(name, h, friction), PlainAtLatents(), Identity())
        given = potential, transition, size.batch, size.steps, size.kept, lambda z: z
        return chain(*given)(h, key, start, state)

    return jax.jit(jax.vmap(run, (None, None, None, 0, 0, 0)))


@cache
def starts(size: Size) -> tuple[jax.Array, jax.Array]:
    """Return positions (chains, d) and hidden units (chains, images, units) where chains start.

    All samplers start there. Positions are N(0, 0.1^2), hidden units a draw given these.
    """
    key, key_hidden = jax.random.split(jax.random.key(1))
    shape = size.chains, potential_of(size).structure.dimension
    return _with_hidden(key_hidden, size, 0.1 * jax.random.normal(key, shape))


@cache
def starts_at_mode(size: Size) -> tuple[jax.Array, jax.Array]:
    """Return starts at the highest of 16 modes of the marginal density, found by Adam.

    There are several: a unit whose values are exchanged gives the same pixels with other
    parameters, which have another prior density. Chains rarely go from one to another.
    """
    key, key_hidden = jax.random.split(jax.random.key(1))
    shape = 16, potential_of(size).structure.dimension
    training = jnp.asarray(images(size.name, size.test).training)
    optimiser = optax.adam(0.03)

    def energy(position: jax.Array) -> jax.Array:
        network = network_of(size, position)
        return 0.5 * position @ position - jnp.sum(log_probabilities(network, training))

    @jax.jit
    @jax.vmap
    def search(position: jax.Array) -> tuple[jax.Array, jax.Array]:
        def body(carry: Any, _: None) -> tuple[Any, None]:
            position, state = carry
            change, state = optimiser.update(jax.grad(energy)(position), state)
            return (position + change, state), None

        first = position, optimiser.init(position)
        (position, _), _ = jax.lax.scan(body, first, None, length=1_000)
        return position, energy(position)

    found, energies = search(jax.random.normal(key, shape))
    best = found[jnp.argmin(energies)]
    return _with_hidden(key_hidden, size, jnp.tile(best, (size.chains, 1)))


def _with_hidden(key: jax.Array, size: Size, position: jax.Array) -> tuple[jax.Array, jax.Array]:
    training = jnp.asarray(images(size.name, size.test).training)
    keys = jax.random.split(key, size.chains)
    of_chain = jax.jit(partial(drawn, images=training))
    networks = [network_of(size, one) for one in position]
    return position, jnp.stack([of_chain(*both) for both in zip(keys, networks, strict=True)])


def nuts(size: Size, warmup: int) -> Network:
    """Return draws of the marginal posterior, (chains, kept, ...), from the starts at its mode."""
    position, _ = starts_at_mode(size)
    kernel = NUTS(summed, max_tree_depth=6)
    thinning = 5
    mcmc = MCMC(
        kernel,
        num_warmup=warmup,
        num_samples=thinning * size.kept,
        thinning=thinning,
        num_chains=size.chains,
        chain_method="vectorized",
        progress_bar=False,
    )
    training = jnp.asarray(images(size.name, size.test).training)
    first = network_of(size, position)._asdict()
    mcmc.run(jax.random.key(2), training, size.units, init_params=first)
    return Network(**mcmc.get_samples(group_by_chain=True))


def scores(key: jax.Array, size: Size, networks: Network) -> Scores:
    """Return the scores of draws of parameters, whose leaves have the axes (chains, draws, ...).

    The score of a chain is the mean of -log p(v | parameters) over its draws and the test images: a
    posterior expectation, of which the number of independent draws changes the error only. The
    mean of n weights of annealed importance sampling is unbiased for p(v | parameters), and its
    logarithm is too small by s^2 / (2 n) on average, to first order, with s^2 the variance of a
    weight in units of its mean, which is added.
    """
    test = jnp.asarray(images(size.name, size.test).test)
    flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), networks)
    powers = jnp.asarray(ladder(size.powers), jnp.float32)
    weights = np.exp(np.asarray(of_draws(key, flat, test, powers, RUNS), np.float64))
    mean = weights.mean(1)
    square = weights.var(1, ddof=1) / RUNS / mean**2
    annealed = -np.log(mean) - square / 2
    exact = -np.asarray(_summed(flat, test), np.float64)
    error = float(np.sqrt(square.sum()) / square.size)
    chains = networks.bias.shape[0]
    return Scores(*(x.reshape(chains, -1).mean(1) for x in (annealed, exact)), error)


@jax.jit
def _summed(networks: Network, test: jax.Array) -> jax.Array:
    return jax.lax.map(partial(log_probabilities, images=test), networks)


def curvature(size: Size, network: Network) -> float:
    """Return the largest curvature of the joint potential at hidden units drawn given these.

    Given the hidden units, each pixel is a logistic regression of its own, and each bias alone.
    """
    training = jnp.asarray(images(size.name, size.test).training)
    return float(_curvature(jax.random.key(6), network, training))


@jax.jit
def _curvature(key: jax.Array, network: Network, training: jax.Array) -> jax.Array:
    hidden = drawn(key, network, training).astype(jnp.float32)
    chance = jax.nn.sigmoid(hidden @ network.weight + network.offset)
    design = jnp.concatenate([hidden, jnp.ones((len(hidden), 1))], axis=1)
    blocks = jnp.einsum("np,nj,nk->pjk", chance * (1 - chance), design, design)
    on = jax.nn.sigmoid(network.bias)
    of_biases = len(hidden) * jnp.max(on * (1 - on))
    return 1.0 + jnp.maximum(jnp.max(jnp.linalg.eigvalsh(blocks)), of_biases)


def without_units(size: Size) -> float:
    """Return the mean negative log probability of a test image if pixels were independent."""
    training, test = images(size.name, size.test)
    chance = (training.sum(0, dtype=np.float64) + 1) / (len(training) + 2)
    return float(-np.mean(np.sum(np.where(test == 1, np.log(chance), np.log1p(-chance)), axis=1)))
