"""Windows in which a walker runs away: the warm-up learns nothing from them and repeats them."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

from numpyro_sgmcmc import SGHMCSplit
from numpyro_sgmcmc.preparation.learning import is_lost
from numpyro_sgmcmc.preparation.windows import Seen

GROUPS, ROWS = 3, 10


def few_groups(group, y):
    """A centred hierarchy, whose curvature has no bound as the groups' scale tends to 0."""
    mean = numpyro.sample("mean", dist.Normal(0.0, 5.0))
    scale = numpyro.sample("scale", dist.HalfNormal(2.0))
    noise = numpyro.sample("noise", dist.HalfNormal(2.0))
    with numpyro.plate("groups", GROUPS):
        level = numpyro.sample("level", dist.Normal(mean, scale))
    numpyro.sample("y", dist.Normal(level[group], noise).to_event(1), obs=y)


def data():
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(GROUPS), ROWS)
    y = 2 + rng.normal(size=GROUPS)[group] + rng.normal(size=group.size)
    return jnp.asarray(group), jnp.asarray(y, jnp.float32)


def seen(square, diverging):
    nothing = jnp.zeros((8, 2))
    second = jnp.diag(jnp.asarray([1.0, square]))
    return Seen(nothing, second, nothing[None], nothing, jnp.asarray(diverging), jnp.asarray(100))


@pytest.mark.parametrize(
    ("square", "diverging", "expected"),
    [
        (1.0, 1e-3, False),  # it diverged at once, as beyond a bound
        (1e6, 0.0, False),  # tails are heavy, or the approximation was far too narrow
        (1e8, 0.0, True),  # above 1 / eps: a walker is on its way when the window ends
        (1e6, 1e-5, True),
        (np.inf, 1e-5, True),
        (np.nan, 1e-5, True),
    ],
)
def test_a_window_is_lost_if_a_diverging_walker_went_far(square, diverging, expected):
    assert is_lost(seen(square, diverging)) == expected


@pytest.mark.filterwarnings("ignore:Step size")
def test_a_hierarchy_of_few_groups_is_prepared():
    """A walker runs away in a window.

    Its path once made a covariance that is not positive definite, and the run ended with NumPy's
    error. That draws of the centred form would take too many transitions may be warned of.
    """
    kernel = SGHMCSplit(few_groups, recentre=False)
    kernel.init(jax.random.key(0), 500, None, data(), {})
    found = kernel.adaptation
    assert found is not None and found.windows > 0
    chosen = found.step_size, found.friction, found.autocorrelation_time
    assert all(np.isfinite(value) and value > 0 for value in chosen)
