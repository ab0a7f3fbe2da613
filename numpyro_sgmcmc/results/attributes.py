"""How a run was made: attributes that every group of its results carries."""

import platform
from dataclasses import fields, is_dataclass
from importlib.metadata import version
from typing import Any

import arviz as az
import jax
import numpy as np
from jax.random import key_impl

import numpyro_sgmcmc
from numpyro_sgmcmc.kernels import ReplicaExchange, StaleGradient
from numpyro_sgmcmc.running import Run

PACKAGES = ("numpyro", "jax", "jaxlib", "optax", "numpy", "xarray")


def run_attributes(run: Run) -> dict[str, Any]:
    """Return what is needed to repeat the run, as numbers and strings that files can store."""
    kernel, options = run.kernel, run.options
    plates = run.structure.plates.items()
    settings = run.settings | {"chain_method": _name_of(run.settings["chain_method"])}
    return {
        "inference_library": "numpyro_sgmcmc",
        "inference_library_version": numpyro_sgmcmc.__version__,
        "arviz_version": az.__version__,
        **{f"{name}_version": version(name) for name in PACKAGES},
        "python_version": platform.python_version(),
        "device": f"{jax.default_backend()}: {jax.devices()[0].device_kind}",
        "float_bits": 64 if jax.config.read("jax_enable_x64") else 32,
        "model": _name_of(kernel.model),
        "kernel": type(kernel).__name__,
        **_parts(run),
        **_extrapolation(run),
        **_staleness(run),
        **_replicas(run),
        "temperature": options.temperature,
        **_pace(run),
        "subsample": ", ".join(f"{n}: {p.subsample_size} of {p.size}" for n, p in plates) or "none",
        **settings,
        **_keys(run.state),
        **({} if run.wall_time is None else {"wall_time": run.wall_time}),
        **({} if run.outcome is None else run.outcome.attributes),
        **_cost(run),
        **_tuned(run),
    }


def _extrapolation(run: Run) -> dict[str, Any]:
    """Return the number of walkers and their coefficients, the finest first, as "2, -1"."""
    if run.kernel.levels == 1:
        return {}
    return {
        "levels": run.kernel.levels,
        "extrapolation": ", ".join(f"{factor:.17g}" for factor in run.coefficients),
    }


def _staleness(run: Run) -> dict[str, Any]:
    """Return the distribution of the ages of gradients, their mean, and the remedy in force."""
    staleness, kernel = run.options.staleness, run.kernel
    if staleness is None or not isinstance(kernel, StaleGradient):
        return {}
    remedy = run.tuned.remedy
    return {
        "stale_kernel": type(kernel.kernel).__name__,
        "delay": in_words(staleness.delay),
        "mean_delay": staleness.delay.mean,
        "remedy": "none" if remedy is None else remedy.name,
    }


def _replicas(run: Run) -> dict[str, Any]:
    """Return the temperatures of replicas, and the shares of accepted swaps of all chains."""
    kernel = run.kernel
    if not isinstance(kernel, ReplicaExchange):
        return {}
    in_all = lambda leaf: np.asarray(leaf, np.float64).reshape(-1, leaf.shape[-1])  # noqa: E731
    swaps = run.state.swaps
    proposed = in_all(swaps.proposed)
    counts = np.maximum(proposed.sum(0), 1)
    energies = "whole data"
    if kernel.swap_minibatches is not None:
        energies = f"{kernel.swap_minibatches} minibatches"
    return {
        "replica_kernel": type(kernel.kernel).__name__,
        "temperatures": list(kernel.temperatures),
        "swap_every": kernel.swap_period(run.structure.plates),
        "swap_energies": energies,
        "swaps_proposed": proposed.sum(0).astype(int).tolist(),
        "swap_rates": (in_all(swaps.accepted).sum(0) / counts).tolist(),
        "swap_noise": ((in_all(swaps.noise) * proposed).sum(0) / counts).tolist(),
        "round_trips": int(np.sum(swaps.round_trips)),
    }


def _parts(run: Run) -> dict[str, Any]:
    options, tuned = run.options, run.tuned
    schedule: Any = options.step_size
    is_constant = options.has_constant_step_size
    friction = run.dynamics.friction
    # Tuned parts hold no anchor; without a subsampled plate every estimator is the plain one.
    as_given = type(options.gradient) is type(tuned.gradient)
    gradient = options.gradient if as_given else tuned.gradient
    return {
        "dynamics": type(options.dynamics).__name__,
        "gradient": in_words(gradient),
        "minibatch": in_words(options.scheme(tuned)),
        "preconditioner": in_words(tuned.preconditioner),
        "noise_correction": type(tuned.correction).__name__ if tuned.correction else "none",
        "step_size_schedule": "constant" if is_constant else in_words(schedule),
        **({"step_size": float(np.ravel(run.state.step_size)[0])} if is_constant else {}),
        **({} if friction is None else {"friction": float(friction)}),
    }


def _keys(state: Any) -> dict[str, Any]:
    """Return the keys of all chains in words of 32 bits, one after the other."""
    given: Any = state.given_keys
    count = int(np.max(given.count))
    if count < 0:
        return {}
    words = lambda keys: np.asarray(keys).ravel().tolist()  # noqa: E731
    found = {"key": words(given.first), "key_implementation": str(key_impl(state.rng_key))}
    if count:
        found |= {"continued_key": words(given.latest), "continued_at": int(np.max(given.since))}
    return found if count <= 1 else found | {"times_continued": count}


def _cost(run: Run) -> dict[str, int]:
    """Return the minibatch gradients of all transitions, warm-up included, preparation not."""
    walkers = (2**run.kernel.levels - 1) * run.kernel.replicas * run.settings["num_chains"]
    transitions = run.num_transitions * walkers
    each = run.tuned.gradient.gradients_per_step if run.structure.plates else 1
    return {"num_transitions": transitions, "num_gradient_evaluations": each * transitions}


def _pace(run: Run) -> dict[str, int]:
    """Return the number of transitions of a draw, and of an iteration of the warm-up."""
    pace = run.tuned.pace
    chosen = {} if pace is None else {"warmup_steps": int(pace.warmup_steps)}
    return {"num_steps": run.num_steps} | chosen


def _tuned(run: Run) -> dict[str, Any]:
    """Return what the warm-up measured and chose."""
    others = run.tuned.other_modes
    missed = {} if others is None else {"share_of_other_modes": float(np.sum(others.shares))}
    if run.adaptation is None:
        return {"tuned": int(run.tuned.step_size is not None)} | missed
    found = run.adaptation._asdict()
    weights = found.pop("centring") or {}
    elsewhere = "gradient", "correction", "step_size", "friction", "num_steps", "plates", "scheme"
    for name in elsewhere:
        del found[name]
    found |= {f"centring_{site}": np.mean(weight) for site, weight in weights.items()}
    values = {name: value for name, value in found.items() if value is not None}
    return (
        {"tuned": 1}
        | missed
        | {n: v if isinstance(v, str) else float(v) for n, v in values.items()}
    )


def in_words(part: Any) -> str:
    """Return a part as it would be written, arrays by their shape."""
    if part is None or isinstance(part, bool | int | float | str):
        return repr(part)
    if isinstance(part, jax.Array | np.ndarray):
        return f"<array {'×'.join(map(str, part.shape))}>" if part.ndim else f"{float(part):.6g}"
    if isinstance(part, tuple) and all(isinstance(x, int | float) for x in part):
        return f"({', '.join(f'{x:.3g}' for x in part)})"
    if isinstance(part, dict):
        return f"<values of {', '.join(map(str, part))}>"
    if is_dataclass(part) and not isinstance(part, type):
        inside = [f"{f.name}={in_words(getattr(part, f.name))}" for f in fields(part) if f.init]
        return f"{type(part).__name__}({', '.join(inside)})"
    return _name_of(part)


def _name_of(thing: Any) -> str:
    """Return the name of a function, of what a partial wraps, or of a class."""
    if isinstance(thing, str):
        return thing
    inner = getattr(thing, "func", thing)
    return getattr(inner, "__qualname__", type(thing).__name__)
