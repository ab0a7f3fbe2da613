"""The preparation of a run, stage by stage.

Each stage takes and returns immutable values:

1. `find_starts` returns finite positions at which searches for a mode begin.
2. `locate` returns a Gaussian approximation of the posterior, and an anchor. For effects in more
   than 300 dimensions it also chooses their coordinates.
3. `recentred` chooses coordinates of effects in smaller hierarchies without a useful mode, and
   `straightened` where the Gaussian at a mode does not hold at its own draws.
4. `warm_up` runs windows of walkers to choose the preconditioner, the step size and all other
   settings. If the user gave a step size, `complete` chooses what is left instead.
5. `with_staleness` finds a remedy's curvature for stale gradients, and a step size that they allow.
6. `first_states` returns the first state of each chain.

A model with latents of rows has stages of its own between the first and the last, in `latents/`.
"""

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.cpu.heap import give_back, return_large_arrays
from numpyro_sgmcmc.gradient import Plain
from numpyro_sgmcmc.preconditioner import Identity, check_preconditioner
from numpyro_sgmcmc.preparation import first, locate, warmup
from numpyro_sgmcmc.preparation.given import complete, needs_start
from numpyro_sgmcmc.preparation.latents import prepare_with_latents
from numpyro_sgmcmc.preparation.options import Options, candidate_gradients
from numpyro_sgmcmc.preparation.pace import pace_of
from numpyro_sgmcmc.preparation.params import check_params
from numpyro_sgmcmc.preparation.prepared import Prepared
from numpyro_sgmcmc.preparation.recentring import recentred
from numpyro_sgmcmc.preparation.request import Request
from numpyro_sgmcmc.preparation.stale import with_staleness
from numpyro_sgmcmc.preparation.start import find_starts, several_keys
from numpyro_sgmcmc.preparation.start_thresholds import SEARCHES
from numpyro_sgmcmc.preparation.straightening import straightened
from numpyro_sgmcmc.preparation.target import Target, concretely, is_traced
from numpyro_sgmcmc.preparation.thresholds import DENSE_DIMENSION
from numpyro_sgmcmc.preparation.warn import warn_about_mixing
from numpyro_sgmcmc.state import DataTag, Tuned


def prepare(target: Target, options: Options, request: Request, tag: DataTag) -> Prepared:
    """Return what a run starts from: the settings, the anchor and the approximation.

    The random keys are fixed, so the result depends only on the model, the data, the options and
    the length of the warm-up. All chains share it, for every `chain_method`.

    Raises:
        TypeError: if `init_params` is not a dict.
        ValueError: if the options do not fit the model, no finite point is found, or a dense noise
            correction is requested in high dimension.
    """
    check_fit(target, options, request)
    if target.structure.dimension == 0:
        return nothing_to_sample(options, request.num_warmup)
    with concretely():
        if target.structure.local is not None:
            rows = max(plate.size for plate in target.structure.plates.values())
            return_large_arrays(4 * rows)  # an array has at least one number of a row
            prepared = prepare_with_latents(target, options, request)
            give_back()  # Chains need as much memory again.
            return prepared
        key_start, key_mode, key_tune = random.keys_of(jax.random.key(0), 3)
        gradients = candidate_gradients(options, target.structure)
        if options.step_size is not None:
            start = None
            if needs_start(options, gradients[0]):
                starts = find_starts(target, key_start[None], options.init_strategy, request)
                start = starts[0]
            given = complete(target, key_mode, key_tune, options, gradients[0], start)
            return with_staleness(given, options, target.structure.dimension, request.num_warmup)
        compile_ahead(target, options, request, tag)
        key_starts, key_others = random.keys_of(jax.random.key(1), 2)
        starts, temperature = None, options.temperature
        if options.anchor is None:
            keys = several_keys(key_start, key_starts, searches(target, options, request))
            starts = find_starts(target, keys, options.init_strategy, request)
        located = locate.locate(
            target,
            *(key_mode, key_others),
            *(starts, options.anchor, temperature),
            may_recentre=options.may_recentre,
        )
        if located.centring is None and options.may_recentre:
            located = straightened(target, jax.random.key(6), located)
        elif located.centring is not None and target.structure.dimension <= DENSE_DIMENSION:
            given = options, gradients, located, request.num_warmup
            located = recentred(target, jax.random.key(2), *given)
        if located.centring is not None:
            target = target.partly_centred(located.centring)
        prepared = warmup.warm_up(target, key_tune, options, gradients, located, request.num_warmup)
        assert prepared.adaptation is not None
        prepared = with_staleness(prepared, options, target.structure.dimension, request.num_warmup)
        assert prepared.adaptation is not None
        warn_about_mixing(prepared.adaptation, target.structure, options, request.num_warmup)
        return prepared


def compile_ahead(target: Target, options: Options, request: Request, tag: DataTag) -> None:
    """Begin to compile the programs of the stages in other threads, in the order of their use.

    Compilation takes most of a warm-up's time and does not hold Python's lock. Each stage compiles
    the programs that it most likely runs. Any other program is compiled at its first use.
    """
    is_large = target.structure.dimension > DENSE_DIMENSION
    if is_large or options.anchor is not None or is_traced((target.args, target.kwargs)):
        return
    if target.passes is not None:  # Workers compile the programs of the first stages.
        return
    gradients = candidate_gradients(options, target.structure)
    located = locate.compile_ahead(target, searches(target, options, request))
    prepared = warmup.compile_ahead(target, options, gradients, located, request.num_warmup)
    first.compile_ahead(target, options, prepared, request, tag)


def searches(target: Target, options: Options, request: Request) -> int:
    """Return from how many starts a mode is searched for."""
    is_open = request.init_params is None and options.temperature > 0
    return SEARCHES if is_open and target.structure.dimension <= DENSE_DIMENSION else 1


def check_fit(target: Target, options: Options, request: Request) -> None:
    """Check `init_params`, the anchor and the preconditioner against the model.

    Raises:
        TypeError: if `init_params` or the anchor is not a dict.
        ValueError: if a site, shape or value does not fit.
    """
    structure = target.structure
    if request.init_params is not None:
        check_params(structure, request.init_params, "init_params", request.chains)
    if options.anchor is not None:
        check_params(structure, options.anchor, "anchor")
    if options.preconditioner is not None and structure.dimension:
        check_preconditioner(options.preconditioner, structure.dimension)


def nothing_to_sample(options: Options, num_warmup: int) -> Prepared:
    """Return arbitrary settings for a model without latent sites, which NumPyro accepts."""
    step_size = jnp.ones(()) if options.step_size is None else None
    friction = jnp.ones(()) if options.dynamics.needs_friction else None
    pace = pace_of(jnp.ones((), jnp.int32), num_warmup) if options.num_steps is None else None
    return Prepared(Tuned(step_size, friction, Identity(), Plain(), None, pace), None, None, None)
