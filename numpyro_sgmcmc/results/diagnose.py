"""The verdict on a NumPyro `MCMC` that has run."""

from collections.abc import Callable, Mapping
from typing import Any

from numpyro.infer import MCMC

from numpyro_sgmcmc.distributed import AsyncMCMC
from numpyro_sgmcmc.running import run_of
from numpyro_sgmcmc.verdict import Diagnosis, diagnosis_of


def diagnose(
    mcmc: MCMC | AsyncMCMC,
    *,
    functions: Mapping[str, Callable[[dict[str, Any]], Any]] | None = None,
) -> Diagnosis:
    """Return whether a run is calibrated, and what to change if it is not.

    This takes a few seconds. It evaluates gradients of the whole data at up to 100,000 draws, at
    fewer if the data have more than 200 rows. From 10,000 rows on it uses 10,000 rows at 2,000
    draws.

    Args:
        mcmc: a NumPyro `MCMC` that has run a kernel of this package, or an `AsyncMCMC`.
        functions: quantities for which the draws are used, by name, for `Diagnosis.predictions`:
            functions of a draw, a dict of its sites, that return an array of any shape. They are
            traced by JAX. None is log likelihoods and fitted values of some observations.

    Raises:
        TypeError: if `mcmc` did not run a kernel of this package.
        ValueError: if it has not run yet, or at temperature 0.
    """
    return diagnosis_of(run_of(mcmc), functions)
