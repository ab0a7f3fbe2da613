"""The verdict on a NumPyro `MCMC` that has run."""

from numpyro.infer import MCMC

from numpyro_sgmcmc.running import run_of
from numpyro_sgmcmc.verdict import Diagnosis, diagnosis_of


def diagnose(mcmc: MCMC) -> Diagnosis:
    """Return whether a run is calibrated, and what to change if it is not.

    Costs a few seconds: gradients of the whole data at up to 100,000 draws, fewer for more
    than 200 rows, and from 10,000 rows on of that many rows at 2,000 draws.

    Args:
        mcmc: a NumPyro `MCMC` that has run a kernel of this package.

    Raises:
        TypeError: if `mcmc` did not run a kernel of this package.
        ValueError: if it has not run yet, or at temperature 0.
    """
    return diagnosis_of(run_of(mcmc))
