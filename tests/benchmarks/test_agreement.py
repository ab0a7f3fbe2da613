"""Agreement of two predictive distributions of classes."""

import numpy as np
import pytest

from benchmarks.calibration.agreement import agreement


def test_agreement_of_known_probabilities():
    reference = np.array([[0.9, 0.1, 0.0], [0.2, 0.5, 0.3], [0.0, 0.4, 0.6]])
    moved = np.array([[0.8, 0.2, 0.0], [0.2, 0.3, 0.5], [0.0, 0.4, 0.6]])
    found = agreement(moved, reference)
    assert found.same_class == pytest.approx(2 / 3)
    assert found.total_variation == pytest.approx((0.1 + 0.2 + 0.0) / 3)
    assert not found.is_close
    assert agreement(reference, reference).is_close


def test_probabilities_of_other_rows_are_refused():
    with pytest.raises(ValueError, match=r"Expected probabilities of shape \(2, 3\)"):
        agreement(np.ones((1, 3)) / 3, np.ones((2, 3)) / 3)
