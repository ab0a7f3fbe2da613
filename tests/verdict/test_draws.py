"""Positions of draws whose stored values no longer tell them."""

import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.distributions import biject_to
from numpyro.distributions import constraints as c

from numpyro_sgmcmc.verdict.draws import nearest

FAR = float(np.log(2 / np.finfo(np.float32).eps))  # 16.6


@pytest.mark.parametrize(
    ("support", "position", "expected"),
    [
        (c.simplex, [0.0, 1.0, 85.0], [0.0, 1.0, FAR]),
        (c.simplex, [0.0, 1.0, 14.0], [0.0, 1.0, 14.0]),
        (c.simplex, [-40.0, 1.0, 3.0], [-40.0, 1.0, 3.0]),
        (c.unit_interval, 85.0, np.log(1 / np.finfo(np.float32).eps)),
        (c.unit_interval, -40.0, -40.0),
        (c.interval(2.0, 5.0), -50.0, -FAR),
        (c.positive, -50.0, -50.0),
        (c.positive, 50.0, 50.0),
        (c.real, 50.0, 50.0),
        (c.interval(2.0, 5.0), [-50.0, 1.0, 50.0], [-FAR, 1.0, FAR - np.log(2)]),
        (c.ordered_vector, [-50.0, 3.0], [-50.0, 3.0]),
    ],
)
def test_the_nearest_position_of_a_value(support, position, expected):
    """NumPyro's inverse gives 86.4 for the first of these, and -inf for the interval's bound.

    Near 14 the stored probability has 5 digits left, of 1.5e-6 with steps of 1.2e-7.
    """
    transform = biject_to(support)
    stored = transform(jnp.array(position))
    found = nearest(transform, transform.inv(stored))
    np.testing.assert_allclose(found, expected, rtol=1e-2, atol=1e-5)
    np.testing.assert_allclose(transform(found), stored, rtol=1e-5, atol=2 * np.finfo("f").eps)
