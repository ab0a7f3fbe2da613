"""Agreement of two predictive distributions of classes, as Izmailov et al. (2021) measure it.

Their figures compare approximate posteriors of networks with Hamiltonian Monte Carlo on all rows
(https://arxiv.org/abs/2104.14421, section 5). NUTS is the reference here.
"""

from typing import NamedTuple

import numpy as np

LEAST_AGREEMENT = 0.98
MOST_VARIATION = 0.03


class Agreement(NamedTuple):
    """How near two predictive distributions are.

    Attributes:
        same_class: share of rows for which both name the same class as the most probable one.
        total_variation: half of the sum over classes of the distance of the probabilities, averaged
            over rows.
    """

    same_class: float
    total_variation: float

    @property
    def is_close(self) -> bool:
        """Whether both are within the bounds."""
        return self.same_class >= LEAST_AGREEMENT and self.total_variation <= MOST_VARIATION


def agreement(probabilities: np.ndarray, reference: np.ndarray) -> Agreement:
    """Return how near the probabilities of classes are to a reference, both (rows, classes)."""
    if probabilities.shape != reference.shape:
        raise ValueError(
            f"Expected probabilities of shape {reference.shape}; got {probabilities.shape}."
        )
    same = probabilities.argmax(-1) == reference.argmax(-1)
    distance = np.abs(probabilities - reference).sum(-1) / 2
    return Agreement(float(same.mean()), float(distance.mean()))
