"""Sums over discrete latent sites by brute force: every assignment of states to all rows."""

from itertools import product
from math import prod

import jax
import jax.numpy as jnp
from jax.nn import logsumexp
from numpyro import handlers
from numpyro.infer.util import compute_log_probs, potential_energy


def assignments(model, args, kwargs, states):
    """Return all assignments of states, by site, (assignment, rows...), of the whole model.

    `states` holds the states of each discrete site by name.
    """
    trace = handlers.trace(handlers.seed(model, 0)).get_trace(*args, **kwargs)
    shapes = {name: jnp.shape(trace[name]["value"]) for name in states}
    counts = {name: prod(shape) for name, shape in shapes.items()}
    every = list(product(*(s for name in states for s in [states[name]] * counts[name])))
    table, start, found = jnp.array(every), 0, {}
    for name, count in counts.items():
        found[name] = table[:, start : start + count].reshape(-1, *shapes[name])
        start += count
    return found


def summed_out(model, args, kwargs, values, states):
    """Return U with the discrete sites summed out, at unconstrained values."""
    every = assignments(model, args, kwargs, states)

    def one(assigned):
        return -potential_energy(handlers.condition(model, assigned), args, kwargs, values)

    return -logsumexp(jax.vmap(one)(every))


def weights(model, args, kwargs, states, sites, normalised=True):
    """Return all assignments, and their posterior probabilities given the constrained sites.

    Without normalisation, their log joint densities.
    """
    every = assignments(model, args, kwargs, states)

    def one(assigned):
        bound = handlers.condition(model, assigned)
        return sum(compute_log_probs(bound, args, kwargs, sites)[0].values())

    densities = jax.vmap(one)(every)
    return every, jax.nn.softmax(densities) if normalised else densities
