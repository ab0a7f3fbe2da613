"""From a finished `MCMC` to ArviZ."""

import inspect
from typing import Any

import arviz as az
import jax
import numpy as np
from numpyro.infer import MCMC

import numpyro_sgmcmc
from numpyro_sgmcmc.checks import warn_user
from numpyro_sgmcmc.kernels import AbstractKernel, AbstractRichardsonRomberg
from numpyro_sgmcmc.results.groups import assemble
from numpyro_sgmcmc.results.whole import log_likelihood as whole_log_likelihood
from numpyro_sgmcmc.results.whole import observed_data
from numpyro_sgmcmc.results.whole import posterior_predictive as whole_posterior_predictive
from numpyro_sgmcmc.verdict import Diagnosis, diagnosis_of


def to_inference_data(
    mcmc: MCMC,
    *,
    log_likelihood: bool = False,
    posterior_predictive: bool = False,
    verdict: bool = True,
    coords: dict[str, Any] | None = None,
    dims: dict[str, list[str]] | None = None,
) -> Any:
    """Return the run as ArviZ's `InferenceData` (ArviZ 0.x) or `xarray.DataTree` (1.x).

    Groups: `posterior` (constrained draws), `sample_stats` (step size, weight, potential energy,
    diverging, and scalar extra fields), `observed_data` and `constant_data` (array arguments of the
    model) of the whole data set, and for Richardson-Romberg `posterior_halfway`,
    `posterior_coarse` and, with three levels, `posterior_middle`.

    Args:
        mcmc: a NumPyro `MCMC` that has run a kernel of this package.
        log_likelihood: add log p(row | draw) of every row.
        posterior_predictive: add one simulated data set for each draw.
        verdict: put the verdict of `diagnose` into the attributes, and warn where it is bad; a few
            seconds.
        coords: labels by dimension. Dimensions that come from plates bear the plates' names.
        dims: names of dimensions by variable, instead of the plates'.

    Raises:
        TypeError: where `mcmc` did not run a kernel of this package.
        ValueError: where it has not run yet, or a result would be too large.
    """
    kernel = kernel_of(mcmc)
    structure = kernel.structure
    args, kwargs = mcmc._args, mcmc._kwargs
    groups = collected(mcmc)
    posterior = groups["posterior"]
    fields = mcmc.get_extra_fields(group_by_chain=True)
    labelled: dict[str, Any] = {**structure.dims, **(dims or {})}
    if isinstance(kernel, AbstractRichardsonRomberg):
        constrain = jax.jit(jax.vmap(jax.vmap(kernel.postprocess_fn(args, kwargs))))
        groups["posterior_halfway"] = constrain(fields["z_halfway"])
        groups["posterior_coarse"] = constrain(fields["z_coarse"])
        if "z_middle" in fields:
            groups["posterior_middle"] = constrain(fields["z_middle"])
    groups["observed_data"] = observed_data(structure, args, kwargs)
    groups["constant_data"] = _constant_data(structure.model, args, kwargs, groups["observed_data"])
    if log_likelihood or posterior_predictive:
        latent = {name: posterior[name] for name in structure.prototype}
        flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), latent)
        shape = (mcmc.num_chains, -1)
        results = {}
        if log_likelihood:
            results["log_likelihood"] = whole_log_likelihood(structure, args, kwargs, flat)
        if posterior_predictive:
            key = jax.random.fold_in(jax.random.key(0), 1)
            results["posterior_predictive"] = whole_posterior_predictive(
                structure, args, kwargs, flat, key
            )
        for group, sites in results.items():
            groups[group] = {n: v.reshape(*shape, *v.shape[1:]) for n, v in sites.items()}
    attributes = _attributes(kernel)
    if verdict and structure.dimension:
        attributes |= _verdict(diagnosis_of(kernel, mcmc.last_state, groups))
    data = assemble(groups, coords or {}, labelled, attributes)
    warn_about_verdict(data)
    return data


def warn_about_verdict(data: Any) -> None:
    """Warn once where the verdict that travels with the data is bad, or iterations diverged."""
    attributes = data.attrs or data["posterior"].attrs
    if not attributes.get("calibrated", True):
        warn_user(attributes["verdict"])
        return
    diverging = np.asarray(data["sample_stats"]["diverging"])
    if count := int(diverging.sum()):
        warn_user(
            f"{count} of {diverging.size} kept iterations diverged: a step would have left the"
            " finite numbers, and the chain stayed where it was. The draws from then on are no"
            " sample of the posterior. The step size is most likely too large: lower it, or use"
            " step_size=None."
        )


def collected(mcmc: MCMC) -> dict[str, dict[str, Any]]:
    """Return the draws and the statistics of a run, (chain, draw, ...)."""
    kernel = kernel_of(mcmc)
    fields = mcmc.get_extra_fields(group_by_chain=True)
    return {
        "posterior": mcmc.get_samples(group_by_chain=True),
        "sample_stats": _sample_stats(mcmc, kernel, fields),
    }


def kernel_of(mcmc: Any) -> AbstractKernel | AbstractRichardsonRomberg:
    """Return the kernel of a run.

    Raises:
        TypeError: where `mcmc` is no `MCMC`, or its kernel is not of this package.
        ValueError: where it has not run yet.
    """
    if not isinstance(mcmc, MCMC):
        raise TypeError(f"Expected a numpyro.infer.MCMC; got {type(mcmc).__name__}.")
    if not isinstance(mcmc.sampler, AbstractKernel | AbstractRichardsonRomberg):
        raise TypeError(
            f"Expected an MCMC with a kernel of numpyro_sgmcmc; got {type(mcmc.sampler).__name__}."
            " Use arviz.from_numpyro for NumPyro's own kernels."
        )
    if mcmc._states is None:
        raise ValueError("Expected an MCMC that has run; call `mcmc.run(key, ...)` first.")
    return mcmc.sampler


def _sample_stats(mcmc: MCMC, kernel: Any, fields: dict[str, Any]) -> dict[str, Any]:
    stats = {
        n: v for n, v in fields.items() if isinstance(v, jax.Array | np.ndarray) and v.ndim == 2
    }
    shape = stats["diverging"].shape
    # A constant step size is not collected at every step; all draws then weigh the same.
    state: Any = mcmc.last_state
    last = np.asarray(state.step_size).reshape(-1, 1)
    stats.setdefault("step_size", np.broadcast_to(last, shape))
    stats.setdefault("weight", np.broadcast_to(last * kernel.num_steps, shape))
    return stats


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
    return {
        "calibrated": int(found.calibrated),  # netCDF knows no booleans
        "verdict": found.sentence,
        "kinetic_temperature": found.kinetic_temperature,
        "stein_discrepancy": found.discrepancy,
    }


def _attributes(kernel: Any) -> dict[str, Any]:
    attributes = {
        "inference_library": "numpyro_sgmcmc",
        "inference_library_version": numpyro_sgmcmc.__version__,
        "arviz_version": az.__version__,
        "kernel": type(kernel).__name__,
        "num_steps": kernel.num_steps,
    }
    adaptation = kernel.adaptation
    if adaptation is not None:
        attributes["gradient"] = type(adaptation.gradient).__name__
        numbers = adaptation._asdict()
        del numbers["gradient"], numbers["correction"]
        attributes["noise_correction"] = type(adaptation.correction).__name__
        attributes |= {n: float(v) for n, v in numbers.items() if v is not None}
    return attributes
