"""A curve by features: few effects, whose uneven gradient noise would move their shared scale."""

import jax
import pytest

from benchmarks.calibration.curve import found


@pytest.mark.slow
@pytest.mark.minutes
def test_the_length_scale_is_as_wide_as_its_exact_posterior():
    """False failures: 1.3e-3 for each of both moments, if its true error is at its tolerance.

    A noise correction leaves the noise where it is larger than on average, and takes out too much
    elsewhere. Without a limit on what effects add up to, the standard deviation was 8.7 % too
    small.
    """
    before = jax.config.jax_enable_x64
    try:
        run = found(500, {})
    finally:
        jax.config.update("jax_enable_x64", before)
    assert abs(run.deviation) <= 0.05 + 3 * run.deviation_error
    assert abs(run.mean) <= 0.1 + 3 * run.mean_error
