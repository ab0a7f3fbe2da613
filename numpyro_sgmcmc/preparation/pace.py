"""The number of transitions in an iteration, chosen from the time that the posterior needs."""

from collections.abc import Sequence
from functools import partial
from math import atanh, inf, log2, prod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.model import Structure
from numpyro_sgmcmc.preparation.autocorrelation import Slowest
from numpyro_sgmcmc.preparation.options import Options
from numpyro_sgmcmc.preparation.row_energies import RowTime
from numpyro_sgmcmc.preparation.thresholds import (
    AMPLE_TRANSITIONS,
    AMPLE_WORK,
    AMPLE_WORTH,
    BURN_IN_DRAWS,
    LARGEST_GROWTH,
    MOST_TRANSITIONS,
    MOST_WINDOWS,
    PREDICTED_DRAWS,
    SETTLED,
    SHORTEST_WINDOW,
    WALKERS,
    WORTH,
)
from numpyro_sgmcmc.state import Pace


class Need(NamedTuple):
    """The transitions that an independent draw takes.

    Attributes:
        time: integrated autocorrelation time of the slowest coordinate, in transitions, ().
        site: the site of that coordinate; None if the time follows from the curvature.
        is_measured: whether the time was measured.
    """

    time: Any
    site: str | None = None
    is_measured: bool = False


def need_of(
    relaxation_steps: Any, found: Slowest | None, slower: float, structure: Structure
) -> Need:
    """Return the transitions that an independent draw takes, measured if that was possible.

    An exponential autocorrelation of relaxation time t has an integrated time of 2 t. It is used if
    no window has measured a time, as far as it is longer than what a window shows at the least.

    Args:
        relaxation_steps: the relaxation time that follows from curvature and step size, ().
        found: what the last window shows, or None.
        slower: by what factor the run is slower than that window, because of another step size.
        structure: structure of the model.
    """
    expected = Need(2 * relaxation_steps)
    if found is None:
        return expected
    time = found.time * slower
    if not found.is_known and float(expected.time) >= time:
        return expected
    return Need(jnp.asarray(time), str(structure.sites()[found.place]), found.is_known)


def need_of_predictions(before: Need, found: RowTime | None, slower: float) -> Need:
    """Return the transitions that an independent draw of a prediction takes.

    Args:
        before: what was known before the last window.
        found: what that window shows of rows.
        slower: by what factor the run is slower than that window, because of another step size.
    """
    if found is None:
        return before._replace(time=before.time * slower)
    time = found.time * slower
    if not found.is_known and float(before.time) * slower <= time:
        return before._replace(time=before.time * slower, site=None)
    return Need(jnp.asarray(time), None, found.is_known)


def wanted_steps(need: Need) -> Any:
    """Return the number of transitions after which a draw is worth 0.3 independent ones.

    Draws with autocorrelation r^k at lag k are worth (1 - r) / (1 + r) independent draws each. An
    autocorrelation exp(-2 s / t) after s transitions has the integrated time t, so m transitions
    give r = exp(-2 m / t), and the worth is tanh(m / t). It is 0.3 at m = t artanh(0.3) = 0.31 t.
    For such small m it is nearly m / t whatever the shape of the autocorrelation.
    """
    return atanh(WORTH) * need.time


def chosen_steps(options: Options, need: Need) -> jax.Array:
    """Return the number of transitions of a draw, (), int32, where the options leave it open."""
    if options.temperature == 0:
        return jnp.ones((), jnp.int32)  # An optimiser has no draws to be independent.
    return _rounded_up(wanted_steps(need), options.max_num_steps)


def steps_of_draws(
    options: Options, need: Need, num_warmup: int, structure: Structure
) -> tuple[jax.Array, jax.Array]:
    """Return the number of transitions of a draw, and `chosen_steps`, both (), int32.

    The first is larger than the second where transitions are cheap: a draw is then worth up to 0.9
    independent ones, as far as `num_warmup` draws stay within `AMPLE_WORK` and `AMPLE_TRANSITIONS`.
    Gradients that other machines compute are not cheap, nor those of a model without subsampling,
    whose rows are not known.
    """
    least = chosen_steps(options, need)
    if not structure.plates or num_warmup < 1 or options.staleness or options.temperature == 0:
        return least, least
    rows = prod(plate.subsample_size for plate in structure.plates.values())
    of_row = 0 if structure.local is None else structure.local.dimension
    work = rows * (structure.dimension + of_row)
    cheap = min(AMPLE_TRANSITIONS, AMPLE_WORK / work) / num_warmup
    most = min(int(cheap), options.max_num_steps)
    return jnp.maximum(least, _rounded_up(atanh(AMPLE_WORTH) * need.time, most)), least


# Compiled as a whole, because compiling each operation alone takes longer.
@jax.jit
def _rounded_up(wanted: Any, most: Any) -> jax.Array:
    wanted = jnp.ceil(wanted)
    # The comparison is false for a time that is not finite.
    chosen = jnp.where(wanted < most, jnp.maximum(wanted, 1), most)
    return chosen.astype(jnp.int32)


# See `_rounded_up`.
@partial(jax.jit, static_argnames="num_warmup")
def pace_of(num_steps: jax.Array, num_warmup: int, least: jax.Array | None = None) -> Pace:
    """Return the pace of a run whose first `num_warmup` iterations are thrown away.

    The chains start at draws of the approximation, so that these iterations take only as many
    transitions in all as `BURN_IN_DRAWS` draws, each of `least` transitions or else of `num_steps`.
    """
    total = BURN_IN_DRAWS * (num_steps if least is None else least)
    each = -(-total // max(num_warmup, 1))
    warmup_steps = jnp.clip(each, 1, num_steps).astype(jnp.int32)
    return Pace(num_steps, warmup_steps, jnp.asarray(num_warmup, jnp.int32))


def window_lengths(transitions: int) -> list[int]:
    """Return at most five lengths, each twice the one before, whose sum is about `transitions`."""
    transitions = min(transitions, MOST_TRANSITIONS)
    count = min(MOST_WINDOWS, int(log2(transitions / SHORTEST_WINDOW + 1)))
    return [transitions * 2**i // (2**count - 1) for i in range(count)]


def enough_for_predictions(need: Need, slower: float) -> float:
    """Return the transitions after which windows show little more; infinite where not known.

    They are those in which the walkers make `PREDICTED_DRAWS` draws of predictions, if the last
    window hardly changed the settings. One that changes them has improved the map, with which the
    next one may find settings for every parameter.

    Args:
        need: of predictions.
        slower: by what factor the run is slower than the last window.
    """
    is_settled = 1 / SETTLED <= slower <= SETTLED
    if not (need.is_measured and is_settled):
        return inf
    return PREDICTED_DRAWS * float(need.time) / WALKERS


def next_length(done: Sequence[int], transitions: int) -> int | None:
    """Return the length of the window after those that are done; None if there is none.

    Lengths are those of `window_lengths`, up to rounding, if `transitions` does not change. If it
    grows, the next window is longer, and there may be more than five.

    Args:
        done: lengths of the windows so far.
        transitions: total length of all windows, as it is known now.
    """
    left = min(transitions, MOST_TRANSITIONS) - sum(done)
    if not done:
        return next(iter(window_lengths(transitions)), None)
    last = done[-1]
    if left < max(last, SHORTEST_WINDOW):
        return None
    count = min(int(log2(left / (2 * last) + 1)), max(1, MOST_WINDOWS - len(done)))
    return min(left // (2 ** max(count, 1) - 1), LARGEST_GROWTH * last)
