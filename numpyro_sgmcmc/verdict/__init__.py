"""A verdict on a finished run: is the posterior calibrated, and what to change if not."""

from numpyro_sgmcmc.verdict.diagnosis import Diagnosis, diagnosis_of

__all__ = ["Diagnosis", "diagnosis_of"]
