"""What the cases run: kernels on families of models, one compiled program each.

A kernel's numbers are part of its program, so they are fixed. What varies is the width of the
posterior, which is data: a step size h that is far too small for one width is unstable for another.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc import (
    SAGALD,
    SGHMC,
    SGLD,
    SGLDFP,
    SGMCLMC,
    SGMCMC,
    SGNHT,
    SGRRHMC,
    SGRRLD,
    SVRGLD,
    ContiguousMinibatch,
    Dense,
    Diagonal,
    FixedPoint,
    Hamiltonian,
    ReshuffledMinibatch,
    RichardsonRomberg,
    RMSProp,
    SGHMCSplit,
    SharedMinibatch,
    SweepMinibatch,
    UniformMinibatch,
    polynomial,
)
from tests.fuzz import densities, problems
from tests.fuzz.problems import Family, log_uniform

LANGEVIN, MOMENTUM = 0.01, 0.1
"""Step sizes h. In a direction of standard deviation w Langevin dynamics are unstable from
h / w^2 = 2 on, the others from about h / w = 2 on."""


def _langevin_width(rng):
    return float(np.sqrt(LANGEVIN / log_uniform(rng, 0.02, rng.choice([0.5, 1.5, 3.0]))))


def _momentum_width(rng):
    return float(MOMENTUM / log_uniform(rng, 0.1, rng.choice([1.0, 1.8, 3.0])))


def _coarse_width(rng):
    """For extrapolation, which is to be used where the coarse walker's error is large."""
    return float(MOMENTUM / log_uniform(rng, 0.4, 1.7))


def _unit(rng):
    return float(log_uniform(rng, 0.2, 5))


class Program(NamedTuple):
    """A kernel on a family, and the shape of its runs.

    Attributes:
        kernel: `model -> kernel`.
        family: of models.
        batch: rows of a minibatch; None is all.
        width: `rng -> width` of the posterior.
        chains: vectorised where there are several.
        warmup: iterations.
        draws: of each chain.
        temperature: the kernel's.
    """

    kernel: Callable[[Callable], Any]
    family: Family
    batch: int | None = None
    width: Callable[[Any], float] = _unit
    chains: int = 4
    warmup: int = 200
    draws: int = 2_000
    temperature: float = 1.0


def _langevin(kernel, family, batch=None, *, steps=20, **options):
    shape = {k: options.pop(k) for k in ("chains", "warmup", "draws") if k in options}
    build = partial(kernel, step_size=LANGEVIN, num_steps=steps, **options)
    temperature = options.get("temperature", 1.0)
    return Program(build, family, batch, _langevin_width, temperature=temperature, **shape)


def _momentum(kernel, family, batch=None, *, friction=5.0, steps=10, **options):
    shape = {k: options.pop(k) for k in ("chains", "warmup", "draws") if k in options}
    if friction is not None:
        options["friction"] = friction
    build = partial(kernel, step_size=MOMENTUM, num_steps=steps, **options)
    temperature = options.get("temperature", 1.0)
    return Program(build, family, batch, _momentum_width, temperature=temperature, **shape)


def _levels(kernel, levels):
    return lambda model, **options: RichardsonRomberg(kernel(model, **options), levels=levels)


def _composed(model, friction, **options):
    scheme = UniformMinibatch(replace=False)
    return SGMCMC(model, dynamics=Hamiltonian(friction), minibatch=scheme, **options)


def _untuned(kernel, family, batch=None, *, steps=5, **options):
    shape = {k: options.pop(k) for k in ("chains", "warmup", "draws") if k in options}
    return Program(partial(kernel, num_steps=steps, **options), family, batch, **shape)


def _diagonal(dimension):
    return Diagonal(jnp.linspace(0.5, 1.5, dimension))


def _dense(dimension):
    return Dense(jnp.eye(dimension) + 0.3 * jnp.tri(dimension, k=-1))


def _decreasing(family):
    step = polynomial(a=LANGEVIN * 10, b=100.0, gamma=0.33)
    return Program(partial(SGLD, step_size=step, num_steps=20), family, None, _langevin_width)


_UNEVEN = (densities.LOG_GAMMA, densities.LOGIT_BETA, densities.QUARTIC)
_smooth = partial(problems.synthetic, kinds=densities.SMOOTH_UNIMODAL)
_normal = partial(problems.synthetic, kinds=(densities.NORMAL,), bend=0.0)

PROGRAMS = {
    "SGLD, one coordinate": _langevin(SGLD, problems.synthetic(1)),
    "SGLD, minibatches": _langevin(SGLD, problems.synthetic(3), 15),
    "SGLD, gamma": _langevin(SGLD, problems.synthetic(1, kinds=(densities.LOG_GAMMA,))),
    "SGLD, cold start": _langevin(SGLD, problems.synthetic(2), warmup=0, draws=500),
    "SGLD, temperature 2": _langevin(SGLD, _smooth(2), temperature=2.0),
    "SGLD, decreasing steps": _decreasing(problems.synthetic(1)),
    "SGLD, RMSProp": _langevin(SGLD, _smooth(3), 15, preconditioner=RMSProp()),
    "SGLD, dense map": _langevin(SGLD, problems.regression(4), 15, preconditioner=_dense(4)),
    "SGLD, dense correction": _langevin(
        SGLD, problems.gaussian_rows(2), 15, noise_correction="dense"
    ),
    "SGLD, shared minibatches": _langevin(
        SGLD, problems.regression(3), 15, minibatch=SharedMinibatch()
    ),
    "SGLD, contiguous": _langevin(
        SGLD, problems.regression(2), 15, minibatch=ContiguousMinibatch()
    ),
    "SGLDFP": _langevin(SGLDFP, problems.synthetic(2), 15),
    "SVRGLD": _langevin(SVRGLD, problems.regression(3), 15, period=4),
    "SAGALD": _langevin(SAGALD, problems.gaussian_rows(2), 15),
    "SGHMC, two coordinates": _momentum(SGHMC, problems.synthetic(2)),
    "SGHMC, minibatches": _momentum(SGHMC, problems.gaussian_rows(3), 15, friction=15.0),
    "SGHMC, diagonal correction": _momentum(
        SGHMC, problems.gaussian_rows(3), 15, friction=10.0, noise_correction="diagonal"
    ),
    "SGHMCSplit, two coordinates": _momentum(SGHMCSplit, problems.synthetic(2)),
    "SGHMCSplit, low friction": _momentum(SGHMCSplit, problems.synthetic(1), friction=1.0),
    "SGHMCSplit, temperature 0.5": _momentum(SGHMCSplit, _smooth(3), temperature=0.5),
    "SGHMCSplit, two plates": _momentum(SGHMCSplit, problems.regression(3, crossed=True), 15),
    "SGHMCSplit, diagonal map": _momentum(
        SGHMCSplit, problems.synthetic(5), 30, preconditioner=_diagonal(5)
    ),
    "SGHMCSplit, epochs": _momentum(
        SGHMCSplit, problems.gaussian_rows(2), 15, minibatch=ReshuffledMinibatch()
    ),
    "SGHMCSplit, sweeps": _momentum(
        SGHMCSplit, problems.regression(2), 15, minibatch=SweepMinibatch()
    ),
    "SGHMCSplit, one chain": _momentum(SGHMCSplit, problems.logistic(), 30, chains=1, draws=6_000),
    "SGHMCSplit, anchored": _momentum(SGHMCSplit, problems.logistic(), 15, gradient=FixedPoint()),
    "SGHMCSplit, 320 coordinates": _momentum(SGHMCSplit, _normal(320), steps=10, draws=500),
    "SGMCMC": _momentum(_composed, problems.gaussian_rows(4), 15, friction=10.0),
    "SGMCLMC, two coordinates": _momentum(SGMCLMC, problems.synthetic(2), friction=5.0),
    "SGMCLMC, minibatches": _momentum(SGMCLMC, problems.gaussian_rows(4), 15, friction=5.0),
    "SGNHT": _momentum(SGNHT, problems.gaussian_rows(2), 15, friction=5.0),
    "SGRRLD": _langevin(SGRRLD, problems.synthetic(1, kinds=_UNEVEN)),
    "SGRRLD, minibatches": _langevin(SGRRLD, problems.synthetic(2), 15),
    "SGRRHMC": _momentum(SGRRHMC, _smooth(1), friction=10.0)._replace(width=_coarse_width),
    "SGRRHMC, minibatches": _momentum(SGRRHMC, problems.gaussian_rows(2), 15, friction=10.0),
    "Three levels, SGLD": _langevin(_levels(SGLD, 3), problems.synthetic(1)),
    "Three levels, SGHMC": _momentum(_levels(SGHMC, 3), _smooth(1), friction=10.0)._replace(
        width=_coarse_width
    ),
    "RichardsonRomberg(SGLDFP)": _langevin(_levels(SGLDFP, 2), problems.logistic(), 15),
    "RichardsonRomberg(SGHMCSplit)": _momentum(_levels(SGHMCSplit, 2), problems.synthetic(2)),
    "SGLD, untuned": _untuned(SGLD, problems.regression(6), 15, steps=20),
    "SGHMC, untuned, two chains": _untuned(SGHMC, problems.synthetic(3), 15, chains=2),
    "SGRRLD, untuned": _untuned(SGRRLD, problems.conjugate(), 30, steps=10),
    "SGHMCSplit, untuned": _untuned(SGHMCSplit, problems.synthetic(5), 15),
    "SGHMCSplit, untuned, conjugate": _untuned(SGHMCSplit, problems.conjugate(), 15),
    "SGHMCSplit, untuned, hierarchy": _untuned(SGHMCSplit, problems.hierarchy(), 15, steps=20),
    "SGHMCSplit, untuned, one chain": _untuned(
        SGHMCSplit, problems.regression(12), 15, chains=1, draws=6_000
    ),
    "SGHMCSplit, untuned, 400 coordinates": _untuned(SGHMCSplit, _normal(400), draws=500),
}
