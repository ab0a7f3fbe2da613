"""Walkers that get lost in a window of a model with latents of rows."""

import jax.numpy as jnp
import numpy as np
import pytest

from numpyro_sgmcmc.preparation.latents.choosing import _sound
from numpyro_sgmcmc.preparation.latents.window import LatentWindow
from tests.latents.problem import binomial, untuned
from tests.latents.test_untuned import data

WALKERS = 4


@pytest.fixture
def windows(monkeypatch):
    """Lose some walkers in the first window; return starts and step sizes of all windows."""
    seen, run = [], LatentWindow.run

    def lose(lost):
        def losing(self, target, key, tuned, walkers, length):
            seen.append((np.asarray(walkers.positions), float(tuned.step_size)))
            shown = run(self, target, key, tuned, walkers, length)
            if len(seen) > 1:
                return shown
            gone = jnp.isin(jnp.arange(WALKERS), jnp.asarray(lost))
            positions = jnp.where(gone[:, None], jnp.nan, shown.walkers.positions)
            return shown._replace(walkers=shown.walkers._replace(positions=positions), lost=gone)

        monkeypatch.setattr(LatentWindow, "run", losing)
        return seen

    return lose


def test_others_take_their_places_with_half_of_the_step_size(windows):
    seen = windows([1, 2])
    mcmc = untuned(binomial, data(60, 0.7), 20, num_warmup=20, num_samples=5)
    (_, first), (starts, second), *_ = seen
    np.testing.assert_allclose(second, first / 2)
    np.testing.assert_array_equal(starts[[1, 2]], starts[[3, 0]])
    assert all(np.isfinite(starts).all() for starts, _ in seen)
    assert all(np.isfinite(draws).all() for draws in mcmc.get_samples().values())


def test_nothing_is_done_for_walkers_that_are_all_lost(windows):
    windows(range(WALKERS))
    with pytest.raises(ValueError, match="walkers of a model with latents of rows"):
        untuned(binomial, data(60, 0.7), 20, num_warmup=20, num_samples=5)


@pytest.mark.parametrize(
    ("lost", "places"),
    [([], [0, 1, 2, 3]), ([0], [1, 1, 2, 3]), ([1, 2], [0, 3, 0, 3]), ([0, 1, 2], [3, 3, 3, 3])],
)
def test_places(lost, places):
    assert _sound(np.isin(np.arange(WALKERS), lost)).tolist() == places
