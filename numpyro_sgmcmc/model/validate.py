"""The checks of a model that NumPyro's own samplers make."""

import warnings
from typing import Any

import numpyro.distributions as dist
from numpyro.distributions import biject_to
from numpyro.infer.util import helpful_support_errors
from numpyro.util import _validate_model


def numpyro_warnings(trace: dict[str, Any]) -> list[str]:
    """Return the warnings that `numpyro.infer.util.initialize_model` gives for a model.

    They are about missing plates and circular supports. Only shapes are used; values may be traced.

    Args:
        trace: a trace of the user's model, before a minibatch is set.

    Raises:
        ValueError: if a latent site has a spherical support or a delta distribution, which NumPyro
            does not accept.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for name, site in trace.items():
            if site["type"] != "sample" or site["is_observed"]:
                continue
            if isinstance(site["fn"], dist.Delta):
                raise ValueError(
                    f"Expected latent sites with a density; got the delta distribution at site"
                    f" {name!r}. Use `numpyro.deterministic({name!r}, ...)` for a value that"
                    " follows from others."
                )
            if site["fn"].support.is_discrete:
                continue
            with helpful_support_errors(site, raise_warnings=True):
                biject_to(site["fn"].support)
        _validate_model(trace, plate_warning="loose")
    return [str(warning.message) for warning in caught]
