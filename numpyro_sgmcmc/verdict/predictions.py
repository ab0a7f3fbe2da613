"""Functions of the draws that a model's symmetries leave alone: what it says of observations."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.model import of_observations
from numpyro_sgmcmc.preparation import Target, View
from numpyro_sgmcmc.types import Minibatch
from numpyro_sgmcmc.verdict.at_points import at_points, random_rows
from numpyro_sgmcmc.verdict.convergence import COMPARED, convergence
from numpyro_sgmcmc.verdict.errors import as_sd
from numpyro_sgmcmc.verdict.regression import slopes
from numpyro_sgmcmc.verdict.run import FinishedRun
from numpyro_sgmcmc.verdict.theory import Predicted
from numpyro_sgmcmc.verdict.thresholds import (
    EFFECTIVE_DRAWS,
    LARGEST_R_HAT,
    LINEAR,
    OTHER_ROWS,
    ROWS_LOOKED_AT,
)

BLOCK = 128
"""Draws at which functions are evaluated at once."""

Functions = Mapping[str, Callable[[dict[str, jax.Array]], Any]]


class Predictions(NamedTuple):
    """How well functions of the draws are known.

    Attributes:
        table: for each function the worst of its entries: `ess_bulk`, `r_hat`, and the relative
            errors of its standard deviation that theory predicts, `noise_inflation`,
            `discretisation` and, if gradients were old, `staleness`, NaN where not known.
        ess: (function, smallest effective sample size).
        r_hat: (function, largest R-hat).
        needed: effective draws that are enough.
    """

    table: pd.DataFrame
    ess: tuple[str, float]
    r_hat: tuple[str, float]
    needed: float = EFFECTIVE_DRAWS

    @property
    def mix(self) -> bool:
        """Whether the chains agree on all of them, and have enough effective draws."""
        return self.ess[1] >= self.needed and self.r_hat[1] <= LARGEST_R_HAT


def values_of(run: FinishedRun, functions: Functions, key: jax.Array) -> dict[str, np.ndarray]:
    """Return the functions at some draws of each chain, (chains, draws, k) each.

    Those that are not finite, or the same for all draws, are left out.

    Args:
        run: the run.
        functions: by name, of a draw's sites; without any, log likelihoods and fitted values of
            some rows of each observed site.
        key: chooses the rows.
    """
    draws = _some(run, run.walkers[0].draws)
    flat = draws.reshape(-1, draws.shape[2])
    found = _values(run.target, flat.astype(run.dtype), functions, key)
    values = {
        function: found[function].reshape(*draws.shape[:2], -1)
        for function in functions or found  # JAX sorts the keys
    }
    # A distribution without a mean, such as a categorical one, has NaN there. A function that is
    # the same for all draws says nothing of chains, which may be stuck.
    return {
        function: x
        for function, x in values.items()
        if x.size and np.isfinite(x).all() and np.ptp(x, axis=(0, 1)).any()
    }


def predictions_of(
    run: FinishedRun, theory: Predicted, values: dict[str, np.ndarray], functions: Functions
) -> Predictions | None:
    """Return how well functions of the draws are known, None where there are none.

    Args:
        run: the run.
        theory: its errors by theory.
        values: the functions at some draws, see `values_of`.
        functions: those of the user.
    """
    if not values:
        return None
    draws, weights = (_some(run, x) for x in (run.walkers[0].draws, run.weights))
    flat = draws.reshape(-1, draws.shape[2])
    mixing = convergence(values, list(values), weights, run.is_together)
    is_stale = run.staleness is not None
    rows = {
        function: mixing[function]._asdict()
        | _errors(theory, flat, values[function].reshape(len(flat), -1), is_stale)
        for function in values
    }
    least = min(mixing, key=lambda function: mixing[function].ess_bulk)
    most = max(mixing, key=lambda function: mixing[function].r_hat)
    return Predictions(
        pd.DataFrame.from_dict(rows, orient="index"),
        (least, mixing[least].ess_bulk),
        (most, mixing[most].r_hat),
        EFFECTIVE_DRAWS if functions else EFFECTIVE_DRAWS * OTHER_ROWS,
    )


def _some(run: FinishedRun, x: np.ndarray) -> np.ndarray:
    """Return at most `COMPARED` draws of each chain, evenly spaced."""
    return x[:, :: -(-run.weights.shape[1] // COMPARED)]


def _values(
    target: Target, points: np.ndarray, functions: Functions, key: jax.Array
) -> dict[str, np.ndarray]:
    """Return the functions at all points, (n, k) each."""
    structure, given = target.structure, ()
    if not functions:
        key_rows, key_density = random.keys_of(key, 2)
        (rows,) = random_rows(structure, key_rows, ROWS_LOOKED_AT)(np.zeros(1, int))
        alike = {name: row[0] for name, row in rows.items()}
        given = (Minibatch(alike, key_density if structure.is_random else None),)
    name = ("functions", *functions.items())
    of = _evaluation(functions)
    found = at_points(target, of, points, BLOCK, *given, name=name, optimise=False)
    return {name: np.asarray(x, np.float64) for name, x in found.items()}


def _evaluation(functions: Functions) -> Callable[..., dict[str, jax.Array]]:
    def observed(view: View, points: jax.Array, rows: Minibatch) -> dict[str, jax.Array]:
        fixed = view.structure, view.args, view.kwargs
        return jax.vmap(lambda z: of_observations(*fixed, z, rows, ROWS_LOOKED_AT))(points)

    def users(view: View, points: jax.Array) -> dict[str, jax.Array]:
        def evaluate(position: jax.Array) -> dict[str, jax.Array]:
            placed = view.structure
            draw = placed.constrain(placed.unravel(position), view.args, view.kwargs)
            return {name: jnp.ravel(jnp.asarray(fn(draw))) for name, fn in functions.items()}

        return jax.vmap(evaluate)(points)

    return users if functions else observed


def _errors(
    theory: Predicted, draws: np.ndarray, values: np.ndarray, is_stale: bool
) -> dict[str, float]:
    """Return what theory predicts for the worst entry that is nearly linear in the position.

    In high dimension these are bounds, for functions that are linear within a mode.
    """
    errors = theory.bounds
    if theory.directions is not None:
        x, y = draws - draws.mean(0), values - values.mean(0)
        found = slopes(x, y, np.full(len(x), 1 / len(x)))
        total = np.sum(y**2, axis=0)
        # A regression on d coordinates explains d of n parts of anything.
        left = np.sum((y - x @ found) ** 2, axis=0) * len(x) / max(len(x) - x.shape[1], 1)
        share = 1 - np.divide(left, total, out=np.ones_like(left), where=total > 0)
        errors = tuple(map(_largest, theory.directions.along(found.T[share >= LINEAR])))
    noise, step, age = (float(as_sd(np.asarray(error))) for error in errors)
    columns = {"noise_inflation": noise, "discretisation": step}
    return columns | {"staleness": age} if is_stale else columns


def _largest(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known[np.argmax(np.abs(known))]) if known.size else float("nan")
