"""What heating that all effects of a hierarchy have in common does to their scale."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from numpyro_sgmcmc.preparation.tuning import uncorrected_share

EFFECTS, NOISE, HEATING, STEPS, CHAINS = 200, 0.7, 0.1, 30_000, 64
Z = 4.5
"""Standard errors: false-failure rate 7e-6."""


@pytest.mark.slow
def test_the_scale_moves_by_what_the_derivation_says():
    """Effects x ~ N(0, exp(2 t)) with observations y ~ N(x, NOISE^2), and t ~ N(0, 1).

    Langevin dynamics with effects at temperature 1 + e are compared with those at 1, on the same
    noise. At the typical t an effect has variance S^2 = 1 / (exp(-2 t) + NOISE^-2); elsewhere
    tr S'HS = n exp(-2 t) S^2 + a constant.
    """
    rng = np.random.default_rng(0)
    y = jnp.asarray(rng.normal(size=EFFECTS) + NOISE * rng.normal(size=EFFECTS))
    size = jnp.array([1 / EFFECTS, 0.3])

    def potential(t, x):
        prior = t**2 / 2 + EFFECTS * t + jnp.exp(-2 * t) * x @ x / 2
        return prior + jnp.sum((y - x) ** 2) / (2 * NOISE**2)

    def moments(heating, key):
        def step(state, key):
            t, x = state
            slopes = jax.grad(potential, (0, 1))(t, x)
            one, many = jax.random.split(key)
            h = 0.01 * size
            t = t - h[0] * slopes[0] + jnp.sqrt(2 * h[0]) * jax.random.normal(one)
            wide = jnp.sqrt(2 * h[1] * (1 + heating))
            x = x - h[1] * slopes[1] + wide * jax.random.normal(many, x.shape)
            return (t, x), t

        t = jax.lax.scan(step, (0.0, y / 2), jax.random.split(key, STEPS))[1][STEPS // 10 :]
        return t.mean(), t.std(), jnp.exp(-2 * t).std()

    keys = jax.random.split(jax.random.key(0), CHAINS)
    compute = jax.jit(jax.vmap(moments, (None, 0)))
    cold, hot = compute(0.0, keys), compute(HEATING, keys)
    centre, sd, precision = (float(x.mean()) for x in cold)
    variation = EFFECTS * precision / (np.exp(-2 * centre) + NOISE**-2)
    moved = np.asarray(hot[0] - cold[0]) / sd
    error = moved.std(ddof=1) / np.sqrt(CHAINS)
    expected = HEATING * variation / 2
    # To leading order: the next one is HEATING times as large.
    assert abs(moved.mean() - expected) < HEATING * expected + Z * error
    # What is left uncorrected moves a mean by 0.05 standard deviations.
    assert float(uncorrected_share(jnp.asarray(variation))) * variation / 2 == pytest.approx(0.05)


def test_without_a_hierarchy_variances_set_the_share():
    assert float(uncorrected_share(jnp.zeros(()))) == pytest.approx(0.05)
