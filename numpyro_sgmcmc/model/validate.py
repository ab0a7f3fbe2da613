"""NumPyro's own checks of a model, as its samplers make them."""

import warnings
from typing import Any

import numpyro.distributions as dist
from numpyro.distributions import biject_to
from numpyro.infer.util import helpful_support_errors
from numpyro.util import _validate_model


def numpyro_warnings(trace: dict[str, Any]) -> list[str]:
    """Return what `numpyro.infer.util.initialize_model` warns of in a trace of the model.

    Missing plates and circular supports. Shapes are enough: values may be traced.

    Args:
        trace: of the model as the user wrote it, before any minibatch is put in.

    Raises:
        ValueError: where NumPyro refuses a latent site: a spherical support, a delta distribution.
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
            with helpful_support_errors(site, raise_warnings=True):
                biject_to(site["fn"].support)
        _validate_model(trace, plate_warning="loose")
    return [str(warning.message) for warning in caught]
