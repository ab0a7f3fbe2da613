"""Words on what a user may do where draws take long: larger minibatches, NUTS or SVI."""

from collections.abc import Mapping
from math import ceil

from numpyro_sgmcmc.preparation.thresholds import MANY_PASSES
from numpyro_sgmcmc.types import Plate


def larger_minibatches(plates: Mapping[str, Plate], factor: float) -> str:
    """Return minibatch sizes that are `factor` times as large, at most all rows, in words."""
    sizes = [(min(p.size, ceil(p.subsample_size * factor)), p.size) for p in plates.values()]
    if all(batch == size for batch, size in sizes):
        return "all rows (no `subsample_size`)"
    return "minibatches of " + ", ".join(f"{batch:,} of {size:,}" for batch, size in sizes)


def passes_of(transitions: float, plates: Mapping[str, Plate]) -> float:
    """Return how many times as many rows as there are these transitions take gradients of."""
    share = max((p.subsample_size / p.size for p in plates.values()), default=1.0)
    return transitions * share


def other_methods(passes: float) -> str:
    """Return which other method to use, if an independent draw takes many passes over the data."""
    if not passes > MANY_PASSES:
        return ""
    return (
        f" An independent draw takes gradients of as many rows as {passes:,.0f} passes over the"
        " data, where NUTS takes 1,023 at the most and often fewer than 100. NUTS"
        " (`numpyro.infer.NUTS`, without `subsample_size`) is likely to be faster; SVI"
        " (`numpyro.infer.SVI`) gives an approximation where a pass takes too long."
    )


def duration(seconds: float) -> str:
    """Return a duration in words, to two digits."""
    units = {"h": (2.0, 3_600.0), "min": (2.0, 60.0), "s": (1.0, 1.0), "ms": (0.0, 1e-3)}
    unit = next(name for name, (least, length) in units.items() if seconds >= least * length)
    return f"{float(f'{seconds / units[unit][1]:.2g}'):g} {unit}"
