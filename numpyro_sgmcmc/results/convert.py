"""From a finished `MCMC` to ArviZ."""

import inspect
from functools import partial
from typing import Any

import jax
import numpy as np
from numpyro.infer import MCMC

from numpyro_sgmcmc.checks import warn_user
from numpyro_sgmcmc.distributed import AsyncMCMC
from numpyro_sgmcmc.precision import full_precision
from numpyro_sgmcmc.results.attributes import run_attributes
from numpyro_sgmcmc.results.entries import attributes_of
from numpyro_sgmcmc.results.groups import assemble, check_dims
from numpyro_sgmcmc.results.latents import moments
from numpyro_sgmcmc.results.local_draws import conditions
from numpyro_sgmcmc.results.noise import noise_by_direction
from numpyro_sgmcmc.results.subset import chosen_subset, dims_of_marginals
from numpyro_sgmcmc.results.whole import observed_data
from numpyro_sgmcmc.running import Run, run_of
from numpyro_sgmcmc.verdict import Diagnosis, diagnosis_of

WALKERS = {
    "posterior_halfway": "z_halfway",
    "posterior_coarse": "z_coarse",
    "posterior_middle": "z_middle",
}
"""Groups of Richardson-Romberg's other walkers, and the fields of the state that hold them."""


@full_precision()
def to_inference_data(
    mcmc: MCMC | AsyncMCMC,
    *,
    log_likelihood: bool = False,
    posterior_predictive: bool = False,
    rows: Any = None,
    draws: int | None = None,
    verdict: bool = True,
    coords: dict[str, Any] | None = None,
    dims: dict[str, list[str]] | None = None,
    attributes: dict[str, Any] | None = None,
) -> Any:
    """Return the run as ArviZ's `InferenceData` (ArviZ 0.x) or `xarray.DataTree` (1.x).

    Groups: `posterior` (constrained draws), `sample_stats` (step size, weight, potential energy,
    diverging, and scalar extra fields), `observed_data` and `constant_data` (array arguments of the
    model) of the whole data set, `warmup_posterior` and `warmup_sample_stats` if `run` collected
    them, and for Richardson-Romberg `posterior_halfway`,
    `posterior_coarse` and, with three levels, `posterior_middle`.

    A model with latents of rows has `latents`: the mean of each row's latents over its visits by
    each chain, their standard deviation (`..._sd`), `visits`, and the `acceptance` of their moves.

    The verdict adds the group `gradient_noise`, by direction. `to_netcdf` and `to_zarr` save all
    groups (ArviZ 0.x writes Zarr 3 with `data.to_datatree().to_zarr(path)`). The attributes
    describe how the run was made:

    - `key` holds the chains' keys, `key_implementation` names their kind. With
      `jax.random.wrap_key_data(jnp.asarray(key, jnp.uint32).reshape(num_chains, -1), impl=...)`
      (its first element for one chain), and the same arguments, `mcmc.run` makes the same draws.
    - `continued_key`, where a run went on with another key (`mcmc.warmup`, then `mcmc.run`) after
      `continued_at` iterations. Of several such keys it is the last; `times_continued` counts them.
    - `wall_time` is the time in seconds from the call of the kernel's `init` (in `mcmc.run` or
      `mcmc.warmup`) until this function had the results. It includes compilation and idle time.
      After `run` it is the time that `run` took.

    Args:
        mcmc: a NumPyro `MCMC` that has run a kernel of this package, or an `AsyncMCMC`.
        log_likelihood: add log p(row | draw) of every row, for `arviz.loo`. That function ignores
            weights: after decreasing steps pass it `thin_by_weight(data)`. Discrete latent sites
            are summed out; observed sites that share one have a joint density, "x+y". With latents
            of rows it is conditional on a row's own latents, which are drawn as by
            `local_posterior`; `arviz.loo` is unreliable then, as it is with NUTS.
        posterior_predictive: add one simulated data set for each draw, of the same rows: latents
            of rows are those of `local_posterior`.
        rows: rows of these two groups: a number of rows of the longest subsampled plate, which are
            drawn at random with a fixed seed, or their indices. None is all rows.
        draws: number of draws of each chain in these two groups, evenly spaced. None is all draws.
        verdict: whether to add the verdict of `diagnose` to the attributes, and to warn if the run
            is not calibrated. It takes a few seconds.
        coords: labels by dimension. Dimensions that come from plates bear the plates' names, and
            others those that the model gives: `sample(..., infer={"event_dims": ["feature"]})`.
        dims: names of dimensions by variable, instead of the model's. Slashes in names, such as
            those of modules, become dots.
        attributes: further attributes, such as {"data": "2026-11, cleaned"}. They replace those of
            the same name.

    Raises:
        TypeError: if `mcmc` did not run a kernel of this package.
        ValueError: if it has not run yet, if a result would be too large, if `rows` or `draws`
            exceed those of the run, or if `dims` and `coords` do not fit.
    """
    run = run_of(mcmc)
    structure, args, kwargs = run.structure, run.target.args, run.target.kwargs
    groups = collected(run)
    labelled: dict[str, Any] = {**structure.dims, **(dims or {})}
    if run.kernel.levels > 1:
        one = partial(structure.constrain, args=args, kwargs=kwargs)
        constrain = jax.jit(jax.vmap(jax.vmap(one)))
        for group, field in WALKERS.items():
            if field in run.fields:
                groups[group] = constrain(run.fields[field])
    groups["observed_data"] = observed_data(structure, args, kwargs)
    groups["constant_data"] = _constant_data(structure.model, args, kwargs, groups["observed_data"])
    check_dims(groups, dims or {})
    subset = chosen_subset(structure, groups["posterior"], rows, draws)
    own_coords = subset.coords(structure, labelled, coords or {})
    latents = conditions(run, subset) if log_likelihood or posterior_predictive else {}
    if log_likelihood:
        groups["log_likelihood"] = subset.log_likelihood(structure, args, kwargs, latents)
    if posterior_predictive:
        found = subset.posterior_predictive(structure, args, kwargs, latents)
        groups["posterior_predictive"] = found
    described = run_attributes(run)
    if verdict and structure.dimension and run.options.temperature:  # at 0 there is no posterior
        found = diagnosis_of(run)
        described |= _verdict(found)
        groups["gradient_noise"] = noise_by_direction(run, found)
        labelled |= {name: ["direction"] for name in groups["gradient_noise"]}
    described |= attributes or {}
    values: dict[str, Any] = {}
    own_dims = {"log_likelihood": dims_of_marginals(structure, labelled)}
    if structure.local is not None:
        groups["latents"], own_dims["latents"], values = moments(run)
    data = assemble(
        groups,
        coords or {},
        labelled,
        described,
        dict.fromkeys(("log_likelihood", "posterior_predictive"), own_coords) | {"latents": values},
        own_dims,
    )
    warn_about_verdict(data)
    return data


def warn_about_verdict(data: Any) -> None:
    """Warn if the verdict in the data's attributes is bad, or if iterations diverged."""
    attributes = attributes_of(data)
    if not attributes.get("calibrated", True):
        warn_user(attributes["verdict"])
        return
    diverging = np.asarray(data["sample_stats"]["diverging"])
    if count := int(diverging.sum()):
        warn_user(
            f"{count} of {diverging.size} kept iterations diverged: a step had a value that is not"
            " finite, and the chain stayed where it was. The draws from then on are no sample of"
            " the posterior. The step size is most likely too large: reduce it, or use"
            " step_size=None."
        )


def collected(run: Run) -> dict[str, dict[str, Any]]:
    """Return the draws and the statistics of a run, (chain, draw, ...)."""
    groups = {"posterior": run.draws, "sample_stats": run.statistics}
    if run.outcome is not None and run.outcome.warmup is not None:
        kept = dict(run.outcome.warmup)
        groups["warmup_posterior"] = kept.pop(run.kernel.sample_field)
        groups["warmup_sample_stats"] = {
            name: value for name, value in kept.items() if getattr(value, "ndim", 0) == 2
        }
    return groups


def _constant_data(
    model: Any, args: tuple, kwargs: dict, observed: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    bound = inspect.signature(model).bind(*args, **kwargs).arguments
    found = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(dict(bound)):
        if not isinstance(leaf, jax.Array | np.ndarray):
            continue
        array = np.asarray(leaf)
        if not any(array.shape == v.shape and np.array_equal(array, v) for v in observed.values()):
            found["_".join(_key_name(key) for key in path)] = array
    return found


def _key_name(key: Any) -> str:
    return str(getattr(key, "key", getattr(key, "name", getattr(key, "idx", key))))


def _verdict(found: Diagnosis) -> dict[str, Any]:
    predictions = {}
    if found.predictions is not None:
        predictions = {
            "predictions_mix": int(bool(found.predictions_mix)),
            "predictions_ess": float(found.predictions["ess_bulk"].to_numpy().min()),
            "predictions_r_hat": float(found.predictions["r_hat"].to_numpy().max()),
        }
    return {
        "calibrated": int(found.calibrated),  # netCDF knows no booleans
        "verdict": found.sentence,
        "kinetic_temperature": found.kinetic_temperature,
        "stein_discrepancy": found.discrepancy,
        **predictions,
    }
