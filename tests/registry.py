"""Named constructors of every kernel: contract and exactness tests run over all of them."""

from collections.abc import Callable
from typing import Any, NamedTuple

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
    UBU,
    FixedPoint,
    Hamiltonian,
    ReplicaExchange,
    RichardsonRomberg,
    SGHMCSplit,
    StaleGradient,
    UniformMinibatch,
)


class Entry(NamedTuple):
    """A kernel's constructor, and what an oracle must know of it.

    `is_linear`: `tests/oracles/recursion.py` gives its distribution on a linear-Gaussian model;
    other kernels have oracles of their own. `age`: of the gradients, in transitions. `replicas`: at
    different temperatures, so that temperature 0 is refused, as it is where not `can_optimise`.
    """

    build: Callable[..., Any]
    dynamics: str
    fixed_point: bool = False
    pair: bool = False
    replace: bool = True
    is_linear: bool = True
    age: int = 0
    replicas: int = 1
    can_optimise: bool = True


def _sgld(model, h, friction, anchor, **options):
    return SGLD(model, h, **options)


def _sgldfp(model, h, friction, anchor, **options):
    return SGLDFP(model, h, anchor=anchor, **options)


def _sghmc(model, h, friction, anchor, **options):
    return SGHMC(model, h, friction=friction, **options)


def _sghmc_split(model, h, friction, anchor, **options):
    return SGHMCSplit(model, h, friction=friction, **options)


def _sghmc_split_fixed_point(model, h, friction, anchor, **options):
    return SGHMCSplit(model, h, friction=friction, gradient=FixedPoint(anchor), **options)


def _sgmcmc(model, h, friction, anchor, **options):
    options = {"minibatch": UniformMinibatch(replace=False)} | options
    return SGMCMC(model, h, dynamics=Hamiltonian(friction), **options)


def _sgnht(model, h, friction, anchor, **options):
    return SGNHT(model, h, friction=friction, **options)


def _sgmclmc(model, h, friction, anchor, **options):
    return SGMCLMC(model, h, friction=friction, **options)


def _ubu(model, h, friction, anchor, **options):
    return UBU(model, h, friction=friction, **options)


def _svrgld(model, h, friction, anchor, **options):
    return SVRGLD(model, h, period=2, **options)


def _sagald(model, h, friction, anchor, **options):
    return SAGALD(model, h, **options)


def _sgrrld(model, h, friction, anchor, **options):
    return SGRRLD(model, h, **options)


def _sgrrhmc(model, h, friction, anchor, **options):
    return SGRRHMC(model, h, friction=friction, **options)


def _stale_split(model, h, friction, anchor, **options):
    return StaleGradient(SGHMCSplit(model, h, friction=friction, **options), 1)


def _replicas(model, h, friction, anchor, **options):
    kernel = SGHMCSplit(model, h, friction=friction, **options)
    return ReplicaExchange(kernel, [1.0, 2.0, 4.0], swap_every=2)


def _pair_sgldfp(model, h, friction, anchor, **options):
    return RichardsonRomberg(SGLDFP(model, h, anchor=anchor, **options))


def _pair_split(model, h, friction, anchor, **options):
    return RichardsonRomberg(SGHMCSplit(model, h, friction=friction, **options))


KERNELS = {
    "SGLD": Entry(_sgld, "langevin"),
    "SGLDFP": Entry(_sgldfp, "langevin", fixed_point=True),
    "SGHMC": Entry(_sghmc, "hamiltonian"),
    "SGHMCSplit": Entry(_sghmc_split, "splitting"),
    "SGHMCSplit(FixedPoint)": Entry(_sghmc_split_fixed_point, "splitting", fixed_point=True),
    "SGMCMC": Entry(_sgmcmc, "hamiltonian", replace=False),
    "SGNHT": Entry(_sgnht, "thermostat", is_linear=False),
    "SGMCLMC": Entry(_sgmclmc, "microcanonical", is_linear=False, can_optimise=False),
    "UBU": Entry(_ubu, "exact friction"),
    "SVRGLD": Entry(_svrgld, "langevin", is_linear=False),
    "SAGALD": Entry(_sagald, "langevin", is_linear=False),
    "StaleGradient(SGHMCSplit)": Entry(_stale_split, "late splitting", is_linear=False, age=1),
    "ReplicaExchange(SGHMCSplit)": Entry(_replicas, "splitting", is_linear=False, replicas=3),
    "SGRRLD": Entry(_sgrrld, "langevin", pair=True),
    "SGRRHMC": Entry(_sgrrhmc, "hamiltonian", pair=True),
    "RichardsonRomberg(SGLDFP)": Entry(_pair_sgldfp, "langevin", fixed_point=True, pair=True),
    "RichardsonRomberg(SGHMCSplit)": Entry(_pair_split, "splitting", pair=True),
}


def make(
    name: str,
    model: Callable,
    step_size: Any = 1e-3,
    *,
    friction: float = 5.0,
    anchor: dict[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Return the named kernel with explicit numbers; friction and anchor where it has them."""
    return KERNELS[name].build(model, step_size, friction, anchor, **options)
