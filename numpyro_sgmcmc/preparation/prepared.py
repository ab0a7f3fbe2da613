"""The result of the preparation: the settings of a run, and the measurements behind them."""

from collections.abc import Mapping
from math import tanh
from typing import Any, NamedTuple

import jax
import numpy as np

from numpyro_sgmcmc.correction import AbstractCorrection
from numpyro_sgmcmc.gradient import AbstractGradient, Anchor
from numpyro_sgmcmc.minibatch import AbstractMinibatch
from numpyro_sgmcmc.preparation.advice import duration, larger_minibatches
from numpyro_sgmcmc.preparation.approximation import Approximation
from numpyro_sgmcmc.preparation.thresholds import ADVISED_FROM
from numpyro_sgmcmc.state import Tuned
from numpyro_sgmcmc.types import Plate


class Adaptation(NamedTuple):
    """The chosen settings and the measurements behind them, in the preconditioner's coordinates.

    Attributes:
        gradient: the gradient estimator that was chosen.
        step_size: h.
        friction: D; None for dynamics without friction.
        curvature: the largest curvature of U that was found at typical points.
        smallest_curvature: the smallest curvature of U; None if it is not known.
        noise: the largest eigenvalue V of the gradient noise's covariance at typical points.
        share: heating by that noise as a share of the increment, h V / (2 D) (Langevin: h V / 2).
        correction: the noise correction in use, or None.
        relaxation_steps: relaxation time of the slowest direction, in transitions. If the smallest
            curvature is not known, the mean curvature is used, which gives too small a value.
        batch_factor: factor by which minibatches would have to grow for their noise not to limit
            the step size; 1 if it does not limit it.
        plates: the subsampled plates.
        scheme: the minibatch scheme that was chosen; None if it is that of the options.
        windows: number of warm-up windows; 0 if the preconditioner and the anchor come from the
            first Gaussian approximation.
        num_steps: transitions of a draw, as the user or the warm-up chose it.
        autocorrelation_time: integrated autocorrelation time of the slowest coordinate in
            transitions, which is what an independent draw takes.
        slowest_site: the site of that coordinate; None if the time was not seen in a window.
        is_measured: whether the last window measured that time. Otherwise the window was too short,
            and the time is the larger of a lower bound that it gives and twice `relaxation_steps`.
        seconds_per_transition: what a transition of 8 walkers together took in the last window;
            None if there was only one, whose time includes compilation.
        noisy_directions: number of directions of large gradient noise that are treated together by
            a matrix; 0 if such directions differ over the posterior, None if they do not limit the
            step size.
        is_for_predictions: whether the settings suit predictions, and not every parameter: the step
            size keeps their variances within the tolerance on average over rows, the share is the
            relative excess of these variances, and a draw is worth 0.3 independent ones of them.
        centring: weights of the coordinates in which effects move, by site, from 0 (non-centred) to
            1 (centred); None if they move as the model has them.
    """

    gradient: AbstractGradient
    step_size: jax.Array
    friction: jax.Array | None
    curvature: jax.Array
    smallest_curvature: jax.Array | None
    noise: jax.Array
    share: jax.Array
    correction: AbstractCorrection | None
    relaxation_steps: jax.Array
    batch_factor: jax.Array
    plates: Mapping[str, Plate]
    scheme: AbstractMinibatch | None = None
    windows: int = 0
    num_steps: Any = None
    autocorrelation_time: Any = None
    slowest_site: str | None = None
    is_measured: bool = False
    seconds_per_transition: float | None = None
    noisy_directions: int | None = None
    is_for_predictions: bool = False
    centring: dict[str, Any] | None = None

    @property
    def worth(self) -> float:
        """How many independent draws a draw is worth in the slowest coordinate, below 1."""
        return tanh(float(self.num_steps) / float(self.autocorrelation_time))

    def __str__(self) -> str:
        """Return the settings and the measurements behind them, in one line."""
        friction = "" if self.friction is None else f", friction {float(self.friction):.3g}"
        advice = ""
        factor = float(self.batch_factor)
        if factor > ADVISED_FROM:
            advice = (
                f" Noise limits the step size: with {larger_minibatches(self.plates, factor)} it"
                f" could be {factor:.0f} times as large."
            )
        heating = (
            f"{float(self.share):.1%} of the injected noise,"
            f" {'left in' if self.correction is None else 'taken out of the injected noise'}"
        )
        if self.is_for_predictions:
            heating = (
                "in directions that differ over the posterior, which widens variances of"
                f" predictions by {float(self.share):.1%} on average"
            )
        epochs = "" if self.scheme is None else ", rows in epochs"
        return (
            f"{type(self.gradient).__name__} gradient{epochs}, step size"
            f" {float(self.step_size):.3g}{friction}: curvature {float(self.curvature):.3g},"
            f" gradient noise {float(self.noise):.3g} in whitened units,"
            f" {heating}; {self._pace()};"
            f" {self.windows} windows.{self._coordinates()}{advice}"
        )

    def _coordinates(self) -> str:
        """Return the coordinates of effects, if the warm-up chose them."""
        if self.centring is None:
            return ""
        ranges = {name: (float(np.min(c)), float(np.max(c))) for name, c in self.centring.items()}
        shown = ", ".join(
            f"{name!r} {low:.2g}" + ("" if low == high else f" to {high:.2g}")
            for name, (low, high) in ranges.items()
        )
        return (
            f" Effects move in coordinates between the non-centred (0) and the centred form (1):"
            f" {shown}."
        )

    def _pace(self) -> str:
        """Return the number of transitions per draw, and the reason."""
        count, time = int(self.num_steps), float(self.autocorrelation_time)
        site = "the slowest direction" if self.slowest_site is None else f"{self.slowest_site!r}"
        if self.is_for_predictions:
            site = "a prediction"
        about = "about" if self.is_measured or self.slowest_site is None else "at least"
        took = ""
        if self.seconds_per_transition is not None:
            took = f" ({duration(time * self.seconds_per_transition)} with 8 walkers)"
        return (
            f"{count:,} transition{'s' * (count != 1)} per draw, worth {self.worth:.2g} of an"
            f" independent one, because {site} takes {about} {time:,.0f} for an independent"
            f" draw{took}"
        )


class Prepared(NamedTuple):
    """What a run starts from.

    Attributes:
        tuned: the settings that its chains run with.
        anchor: the fixed point of gradient estimators that need one, else None.
        approximation: a Gaussian approximation of the posterior, whose draws are the chains'
            starts. If its spread is None, all chains start at its centre. If it is None, chains
            start at draws of the initialisation strategy.
        adaptation: what the warm-up measured and chose; None if there was no warm-up.
        walkers: positions and latents of rows of several walkers, at which chains start; None for a
            model without latents of rows.
    """

    tuned: Tuned
    anchor: Anchor | None
    approximation: Approximation | None
    adaptation: Adaptation | None
    walkers: Any = None
