"""Priors that models share."""

from typing import Any

import numpyro
import numpyro.distributions as dist


def normal(name: str, scale: float, *shape: int) -> Any:
    """Sample a vector of independent normal entries, a number without shape."""
    prior = dist.Normal(0.0, scale)
    return numpyro.sample(name, prior.expand(shape).to_event(len(shape)))


def line(columns: int) -> tuple[Any, Any]:
    """Sample an intercept and coefficients."""
    return normal("intercept", 2.0), normal("coefficients", 1.0, columns)
