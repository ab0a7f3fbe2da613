"""A gradient whose time is measured before the preparation."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.distributed.gradients import SHARED, Settings
from numpyro_sgmcmc.distributed.job import on_host
from numpyro_sgmcmc.distributed.messages import Request
from numpyro_sgmcmc.distributed.wire import kinds_of, unwrapped
from numpyro_sgmcmc.gradient import Plain
from numpyro_sgmcmc.kernels import AbstractKernel
from numpyro_sgmcmc.kernels.stepping import stepper_of
from numpyro_sgmcmc.model import read_structure
from numpyro_sgmcmc.preconditioner import Identity
from numpyro_sgmcmc.state import Tuned


class Probe(NamedTuple):
    """A plain gradient at zero, whose value is of no interest.

    Attributes:
        settings: what a worker must know.
        request: what it is asked for.
        per_step: how many such gradients the kernel's estimator computes, or may compute.
    """

    settings: Settings
    request: Request
    per_step: int


def probe_of(kernel: AbstractKernel, rng_key: jax.Array, args: tuple, kwargs: dict) -> Probe:
    """Return a gradient to measure, with how many of them the kernel's estimator computes."""
    options = kernel.options
    structure = read_structure(kernel.model, args, kwargs, options.latent_move)
    one = jnp.ones(())
    friction = one if options.dynamics.needs_friction else None
    step_size = one if options.step_size is None else None
    tuned = Tuned(step_size, friction, Identity(), Plain())
    stepper = stepper_of(options, structure, args, kwargs, tuned)
    scheme = stepper.scheme.init(rng_key, structure.plates)
    shape = jax.eval_shape(structure.ravel, structure.prototype)
    data = np.asarray(jax.random.key_data(rng_key))[None]
    schemes = [np.asarray(leaf)[None] for leaf in jax.tree.leaves(unwrapped(scheme))]
    position = np.zeros(shape.shape, shape.dtype)
    request = Request(SHARED, 0, 1, 0, position, data, schemes)
    settings = Settings(options, on_host(tuned), kinds_of((rng_key, scheme)))
    given = options.gradient
    both = given is None and options.step_size is None and bool(structure.plates)
    per_step = 1 if given is None else given.gradients_per_step
    return Probe(settings, request, 2 if both else per_step)
