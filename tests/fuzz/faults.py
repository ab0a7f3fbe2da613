"""What is done to the draws of a finished run, on the unconstrained space."""

from typing import Any, NamedTuple

import numpy as np

WALKERS = ("z", "z_halfway", "z_coarse", "z_middle")
"""Fields of the states that hold positions; Richardson-Romberg has several."""

FACTORS = (0.5, 0.8, 0.9, 1.1, 1.2, 1.5, 2.0)
SHIFTS = (-0.5, -0.25, -0.15, 0.15, 0.25, 0.5, 1.0)
SHARES = (0.05, 0.2, 0.5)
KINDS = ("none", "scaled", "shifted", "stuck", "short")
MANY = 100
"""From that dimension on a single wrong coordinate is what most runs are about."""


class Fault(NamedTuple):
    """How draws are changed.

    Attributes:
        is_exact: whether independent draws of the posterior take the place of the run's first.
        kind: "none", "scaled", "shifted", "stuck" (half of the chains, or of a single chain's
            draws) or "short".
        at: the coordinate.
        amount: factor of its deviations, shift in standard deviations, or share of draws kept.
    """

    is_exact: bool
    kind: str
    at: int
    amount: float

    @property
    def is_sound(self) -> bool:
        """Whether draws are independent ones of the posterior, all of them."""
        return self.is_exact and self.kind == "none"


def random_fault(rng: Any, dimension: int) -> Fault:
    """Return no change for half of the runs of few coordinates, else one of each kind."""
    shares = (0.2, 0.35, 0.35, 0.05, 0.05) if dimension >= MANY else (0.5, 0.2, 0.2, 0.05, 0.05)
    kind = str(rng.choice(KINDS, p=shares))
    is_exact = bool(rng.random() < 0.3)
    amounts = {"scaled": FACTORS, "shifted": SHIFTS, "short": SHARES}.get(kind, (1.0,))
    return Fault(is_exact, kind, int(rng.integers(dimension)), float(rng.choice(amounts)))


def with_fault(
    fault: Fault, walkers: dict[str, np.ndarray], problem: Any, rng: Any, length: int | None = None
) -> dict:
    """Return the changed draws of the walkers, (chains, draws, d) by field.

    Exact ones are `length` of each chain, as many as the walkers' by default.
    """
    changed = dict(walkers)
    if fault.is_exact:
        chains, draws = walkers["z"].shape[:2]
        # The same for all walkers, whose extrapolated estimates are then those of these draws.
        changed = dict.fromkeys(walkers, problem.sample(rng, (chains, length or draws)))
    for name, z in changed.items():
        z = z.copy()
        if fault.kind == "scaled":
            centre = problem.mean[fault.at]
            z[..., fault.at] = centre + fault.amount * (z[..., fault.at] - centre)
        elif fault.kind == "shifted":
            z[..., fault.at] += fault.amount * problem.sd[fault.at]
        elif fault.kind == "stuck":
            chains, draws = z.shape[0] // 2, z.shape[1] // 2
            if chains:
                z[:chains] = z[:chains, :1]
            else:
                z[:, draws:] = z[:, draws : draws + 1]
        elif fault.kind == "short":
            z = z[:, : int(fault.amount * z.shape[1])]
        changed[name] = z
    return changed
