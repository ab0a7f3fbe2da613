"""The interface of samplers other than NumPyro's `MCMC` whose runs are judged and converted."""

from abc import ABC, abstractmethod

from numpyro_sgmcmc.running.run import Run


class AbstractSampler(ABC):
    """Something that runs a kernel and then holds its run."""

    @abstractmethod
    def finished(self) -> Run:
        """Return the latest run.

        Raises:
            ValueError: if there is none, or its data have been edited since.
        """
