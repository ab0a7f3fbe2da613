"""One case: a random problem, a run of a program on it, perhaps a fault, and the verdict."""

import warnings
from collections.abc import Callable
from functools import cache
from math import ceil
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from numpyro import handlers
from numpyro.distributions import biject_to
from numpyro.infer import MCMC

from numpyro_sgmcmc import SharedMinibatch, diagnose, to_inference_data
from numpyro_sgmcmc.results.estimate import coefficients
from tests.fuzz.errors import Errors, errors_of
from tests.fuzz.faults import WALKERS, Fault, random_fault, with_fault
from tests.fuzz.loops import compiled_once, programs
from tests.fuzz.programs import PROGRAMS

CASES = 300
NAMES = list(PROGRAMS)
GROUPS = dict(
    zip(
        ("posterior", "posterior_halfway", "posterior_coarse", "posterior_middle"),
        WALKERS,
        strict=True,
    )
)


class Outcome(NamedTuple):
    """What came of a case.

    Attributes:
        seed: of the case; its program is the one at `seed % len(PROGRAMS)`.
        program: its name.
        width: of the posterior.
        fault: what was done to the draws.
        calibrated: the verdict.
        sentence: in words.
        errors: of what the run reports, if it is called calibrated; others cannot be wrong.
    """

    seed: int
    program: str
    width: float
    fault: Fault
    calibrated: bool
    sentence: str
    errors: Errors | None

    @property
    def is_wrong(self) -> bool:
        """Whether the run is called calibrated and is not."""
        return self.errors is not None and self.errors.excess > 0

    def __str__(self) -> str:
        """Return all of it, and how to make the case again."""
        fault = f"{'exact draws, ' if self.fault.is_exact else ''}{self.fault.kind}"
        if self.fault.kind in ("scaled", "shifted", "short"):
            fault += f" {self.fault.amount:g} at {self.fault.at}"
        return (
            f"python -m tests.fuzz {self.seed}: {self.program}; width {self.width:.3g}; {fault}\n"
            f"  {self.errors or 'not called calibrated'}\n  {self.sentence}"
        )


def seeds_of(program: str) -> range:
    """Return the seeds of a program's cases."""
    return range(NAMES.index(program), CASES, len(NAMES))


def run_case(seed: int) -> Outcome:
    """Run the case of a seed."""
    return _run(NAMES[seed % len(NAMES)], seed, random_fault)


def sound_case(program: str, seed: int, rounds: int) -> Outcome:
    """Run a program on a problem of its own, and put exact draws in the place of the run's.

    Where the verdict asks for more draws it gets them, so many times.
    """
    return _run(program, seed, lambda rng, dimension: Fault(True, "none", 0, 1.0), rounds)


def _run(name: str, seed: int, fault_of: Callable[[Any, int], Fault], rounds: int = 0) -> Outcome:
    program, rng = PROGRAMS[name], np.random.default_rng([14, seed])
    width = program.width(rng)
    problem = program.family.problem(rng, width, program.temperature)
    fault = fault_of(rng, len(problem.mean))
    mcmc, jitted = _mcmc(name)
    with warnings.catch_warnings(), compiled_once(jitted):
        # Runs that diverge, or whose verdict is bad, warn: here they are meant to.
        warnings.simplefilter("ignore", UserWarning)
        mcmc.run(jax.random.key(seed), *problem.args)
        _change(mcmc, fault, problem, rng, name)
        found, length = diagnose(mcmc), program.draws
        for _ in range(rounds):
            if found.more_draws is None:
                break
            length += ceil(found.more_draws / program.chains)
            _change(mcmc, fault, problem, rng, name, length)
            found = diagnose(mcmc)
        errors = _errors(mcmc, problem, name) if found.calibrated else None
    return Outcome(seed, name, width, fault, found.calibrated, found.sentence, errors)


@cache
def _mcmc(name: str) -> tuple[MCMC, Callable]:
    program = PROGRAMS[name]
    kernel = program.kernel(program.family.model(program.batch))
    mcmc = MCMC(
        kernel,
        num_warmup=program.warmup,
        num_samples=program.draws,
        num_chains=program.chains,
        chain_method="vectorized" if program.chains > 1 else "sequential",
        progress_bar=False,
        jit_model_args=True,
    )
    return mcmc, programs()


def _change(
    mcmc: Any, fault: Fault, problem: Any, rng: Any, name: str, length: int | None = None
) -> None:
    """Put the changed draws in the place of the run's own; exact ones may be more than these."""
    if not fault.is_exact and fault.kind == "none":
        return
    sites, states = _transforms(name), mcmc._states
    fields = [name for name in WALKERS if name in states]
    free = {**states, "z": {n: sites[n].inv(jnp.asarray(states["z"][n])) for n in sites}}
    shapes = {n: np.shape(free["z"][n])[2:] for n in sites}
    walkers = with_fault(fault, {n: raveled(free[n]) for n in fields}, problem, rng, length)
    # What is known of each draw, its step size say, is repeated where draws outnumber the run's.
    places = np.arange(walkers["z"].shape[1]) % free["z"][next(iter(sites))].shape[1]
    for field, value in states.items():
        states[field] = jax.tree.map(lambda x: x[:, places], value)
    for field in fields:
        values = _unraveled(walkers[field], shapes)
        if field == "z":
            values = {n: sites[n](v) for n, v in values.items()}
        states[field] = values


def _errors(mcmc: Any, problem: Any, name: str) -> Errors:
    program, states, counted = PROGRAMS[name], mcmc._states, {"z": 1.0}
    if "z_coarse" in states:
        combined = coefficients(to_inference_data(mcmc, verdict=False))
        counted = {GROUPS[group]: factor for group, factor in combined.items()}
    sites = _transforms(name)
    free = {**states, "z": {n: sites[n].inv(jnp.asarray(states["z"][n])) for n in sites}}
    walkers = {field: raveled(free[field]) for field in counted}
    # Constant step sizes are not collected: all draws weigh the same.
    weights = np.asarray(states.get("weight", np.ones(walkers["z"].shape[:2])), np.float64)
    together = isinstance(program.kernel.keywords.get("minibatch"), SharedMinibatch)
    return errors_of(walkers, counted, weights, problem, together)


@cache
def _transforms(name: str) -> dict[str, Any]:
    """Return the maps from unconstrained values, by latent site in the order of positions.

    They are the same for all problems of a program.
    """
    program = PROGRAMS[name]
    problem = program.family.problem(np.random.default_rng(0), 1.0, program.temperature)
    seeded = handlers.substitute(
        handlers.seed(program.family.model(program.batch), jax.random.key(0)),
        substitute_fn=numpyro.infer.init_to_uniform(),
    )
    trace = handlers.trace(seeded).get_trace(*problem.args)
    return {
        name: biject_to(site["fn"].support)
        for name, site in sorted(trace.items())
        if site["type"] == "sample" and not site["is_observed"]
    }


def raveled(sites: dict[str, Any]) -> np.ndarray:
    """Return values by site, (chains, draws, ...), as positions (chains, draws, d)."""
    parts = [np.asarray(sites[name], np.float64) for name in sorted(sites)]
    return np.concatenate([p.reshape(*p.shape[:2], -1) for p in parts], axis=2)


def _unraveled(positions: np.ndarray, shapes: dict[str, tuple[int, ...]]) -> dict[str, Any]:
    ends = np.cumsum([int(np.prod(shapes[name])) for name in sorted(shapes)])
    parts = np.split(positions, ends[:-1], axis=2)
    return {
        name: jnp.asarray(part.reshape(*part.shape[:2], *shapes[name]), jnp.float32)
        for name, part in zip(sorted(shapes), parts, strict=True)
    }
