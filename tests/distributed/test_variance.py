"""Stationary variances with old gradients, with and without remedies; workers in this process."""

import numpy as np
import pytest

from tests.distributed.local import counts_of, run_locally
from tests.distributed.problem import data
from tests.distributed.variance import REMEDIES, assert_variance, expected, kernel, options
from tests.marks import briefly

WARMUP, SAMPLES, SERVERS, WORKERS = 200, 2_000, 4, 8


@pytest.mark.parametrize("name", briefly(list(REMEDIES), []))
def test_variance_is_that_of_the_recursion(name):
    counts = counts_of(
        warmup=WARMUP, samples=SAMPLES, servers=SERVERS, workers=WORKERS, bound=11, size=3
    )
    found = run_locally(kernel(), data(), counts, workers=WORKERS, **options(name))
    assert len(set(found.ages[0].tolist())) > 5
    assert_variance(found.run.draws["theta"], found.ages, name, WARMUP)


def test_the_oracle_tells_remedies_apart():
    """Ages 3 to 5: the differences are many times the errors above."""
    ages = np.tile([3, 4, 5], 500)
    fresh = expected(0 * ages, "none")[-1]
    ratios = {name: expected(ages, name)[-300:].mean() / fresh for name in REMEDIES}
    assert ratios["none"] > 1.3 and ratios["friction"] < 1.15 and ratios["curvature"] < 1.15
