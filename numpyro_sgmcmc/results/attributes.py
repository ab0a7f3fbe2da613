"""How a run was made: attributes that every group of its results carries."""

import platform
from dataclasses import fields, is_dataclass
from importlib.metadata import version
from time import perf_counter
from typing import Any

import arviz as az
import jax
import numpy as np
from jax.random import key_impl
from numpyro.infer import MCMC

import numpyro_sgmcmc
from numpyro_sgmcmc.gradient import SVRG, FixedPoint
from numpyro_sgmcmc.kernels import AbstractKernel, AbstractRichardsonRomberg
from numpyro_sgmcmc.preparation import Tuned

PACKAGES = ("numpyro", "jax", "jaxlib", "optax", "numpy", "xarray")


def run_attributes(mcmc: MCMC) -> dict[str, Any]:
    """Return what it takes to run the same again: numbers and words that files can hold."""
    wall_time = _wall_time(mcmc)
    sampler: Any = mcmc.sampler
    walker: AbstractKernel = sampler
    if isinstance(sampler, AbstractRichardsonRomberg):
        walker = sampler.kernel
    state: Any = mcmc.last_state
    first = state if np.ndim(state.i) == 0 else jax.tree.map(lambda leaf: leaf[0], state)
    plates = walker.structure.plates.items()
    return {
        "inference_library": "numpyro_sgmcmc",
        "inference_library_version": numpyro_sgmcmc.__version__,
        "arviz_version": az.__version__,
        **{f"{name}_version": version(name) for name in PACKAGES},
        "python_version": platform.python_version(),
        "device": f"{jax.default_backend()}: {jax.devices()[0].device_kind}",
        "float_bits": 64 if jax.config.read("jax_enable_x64") else 32,
        "model": _name_of(sampler.model),
        "kernel": type(sampler).__name__,
        **_parts(walker, first.tuned, first.step_size),
        **({"levels": sampler.levels} if isinstance(sampler, AbstractRichardsonRomberg) else {}),
        "temperature": walker.temperature,
        "num_steps": sampler.num_steps,
        "subsample": ", ".join(f"{n}: {p.subsample_size} of {p.size}" for n, p in plates) or "none",
        "num_chains": mcmc.num_chains,
        "chain_method": _name_of(mcmc.chain_method),
        "num_warmup": mcmc.num_warmup,
        "num_samples": mcmc.num_samples,
        "thinning": mcmc.thinning,
        **_keys(state),
        **wall_time,
        **_cost(mcmc, sampler, walker, int(first.i)),
        **_tuned(walker),
    }


def _parts(walker: AbstractKernel, tuned: Tuned, step_size: Any) -> dict[str, Any]:
    schedule: Any = walker.step_size
    chosen = walker.has_constant_step_size
    friction = getattr(walker.dynamics, "friction", None)
    friction = tuned.friction if friction is None else friction
    return {
        "dynamics": type(walker.dynamics).__name__,
        "gradient": in_words(walker.prepared.gradient),
        "minibatch": in_words(walker.scheme),
        "preconditioner": in_words(tuned.preconditioner),
        "noise_correction": type(tuned.correction).__name__ if tuned.correction else "none",
        "step_size_schedule": "constant" if chosen else in_words(schedule),
        **({"step_size": float(step_size)} if chosen else {}),
        **({} if friction is None else {"friction": float(friction)}),
    }


def _wall_time(mcmc: MCMC) -> dict[str, float]:
    """Return the seconds since the kernel's `init` was called, when the results are there.

    Nothing for a kernel that was pickled after its run, or never saw an `init`.
    """
    jax.block_until_ready((mcmc.last_state, mcmc.get_samples(group_by_chain=True)))
    sampler: Any = mcmc.sampler
    walker = sampler.kernel if isinstance(sampler, AbstractRichardsonRomberg) else sampler
    # Chains in sequence call it once each.
    calls = walker.began[-mcmc.num_chains if mcmc.chain_method == "sequential" else -1 :]
    return {"wall_time": perf_counter() - calls[0]} if calls else {}


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


def _cost(mcmc: MCMC, sampler: Any, walker: AbstractKernel, iterations: int) -> dict[str, int]:
    """Return the minibatch gradients of all transitions, warm-up included, preparation not."""
    levels = getattr(sampler, "levels", 1)
    transitions = iterations * sampler.num_steps * (2**levels - 1) * mcmc.num_chains
    gradient = walker.prepared.gradient
    # A control variate is a second gradient of the same rows.
    twice = 2 if isinstance(gradient, FixedPoint | SVRG) and walker.structure.plates else 1
    return {"num_transitions": transitions, "num_gradient_evaluations": twice * transitions}


def _tuned(walker: AbstractKernel) -> dict[str, Any]:
    """Return what the warm-up measured and chose."""
    if walker.adaptation is None:
        return {"tuned": 0}
    numbers = walker.adaptation._asdict()
    for name in ("gradient", "correction", "step_size", "friction"):
        del numbers[name]
    return {"tuned": 1} | {n: float(v) for n, v in numbers.items() if v is not None}


def in_words(part: Any) -> str:
    """Return a part as it would be written, arrays by their shape."""
    if part is None or isinstance(part, bool | int | float | str):
        return repr(part)
    if isinstance(part, jax.Array | np.ndarray):
        return f"<array {'×'.join(map(str, part.shape))}>" if part.ndim else f"{float(part):.6g}"
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
