"""The figures of a report, by section."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from numpyro_sgmcmc.results.entries import Entry
from numpyro_sgmcmc.results.estimate import is_extrapolated
from numpyro_sgmcmc.results.groups import group_names
from numpyro_sgmcmc.results.plots.canvas import new_axes
from numpyro_sgmcmc.results.plots.noise import plot_gradient_noise
from numpyro_sgmcmc.results.plots.running import draw_running_mean
from numpyro_sgmcmc.results.plots.steps import plot_step_size
from numpyro_sgmcmc.results.plots.temperature import plot_kinetic_temperature
from numpyro_sgmcmc.results.plots.walkers import draw_walkers
from numpyro_sgmcmc.results.report import chains
from numpyro_sgmcmc.results.report.svg import as_svg, page_style


class Picture(NamedTuple):
    """An SVG element and a text that describes it."""

    svg: str
    words: str


class Section(NamedTuple):
    """Figures of one kind, with advice on how to read them."""

    title: str
    advice: str
    pictures: list[Picture]


def sections(data: Any, shown: list[Entry]) -> list[Section]:
    """Return the figures of the entries and of the whole run for which the run has data.

    Raises:
        ImportError: if matplotlib is missing.
    """
    stats = data["sample_stats"]
    per_entry: list[tuple[str, str, Callable[[Entry], Any]]] = [
        ("Trace", TRACE, lambda entry: chains.trace(data, entry)),
        ("Ranks", RANKS, lambda entry: chains.rank(data, entry)),
        ("Autocorrelation", AUTOCORRELATION, lambda entry: chains.autocorrelation(data, entry)),
        ("Running estimate", RUNNING, _drawn(data, draw_running_mean)),
    ]
    if is_extrapolated(data):
        per_entry.append(("Coarse against fine walker", WALKERS, _drawn(data, draw_walkers)))
    whole: list[tuple[str, str, Callable[..., Any]]] = []
    if "gradient_noise" in group_names(data):
        whole.append(("Gradient noise against injected noise", NOISE, plot_gradient_noise))
    if "kinetic_temperature" in stats:
        whole.append(("Kinetic temperature", TEMPERATURE, plot_kinetic_temperature))
    if np.ptp(np.asarray(stats["step_size"])) > 0:
        whole.append(("Step size along the run", STEPS, plot_step_size))
    found = []
    with page_style():
        number = 0
        for title, advice, draw in per_entry:
            pictures = []
            for entry in shown:
                pictures.append(_picture(draw(entry), f"{title} of {entry.label}", number))
                number += 1
            found.append(Section(title, advice, pictures))
        for title, advice, draw in whole:
            picture = _picture(draw(data, ax=new_axes(1)[0]).figure, title, number)
            number += 1
            found.append(Section(title, advice, [picture]))
    return found


def _drawn(data: Any, draw: Callable[[Any, Entry, Any], Any]) -> Callable[[Entry], Any]:
    return lambda entry: draw(data, entry, new_axes(1)[0]).figure


def _picture(figure: Any, words: str, number: int) -> Picture:
    import matplotlib.pyplot as pyplot

    try:
        return Picture(as_svg(figure, number), words)
    finally:
        pyplot.close(figure)


TRACE = "All chains should look alike, and none should stay in one region for long."
RANKS = "If chains explore the same posterior, ranks are uniform: level bars or flat lines."
AUTOCORRELATION = "The faster it falls into the grey band, the more effective draws there are."
RUNNING = (
    "The estimate against the number of draws used, with two standard errors to either side. Thin"
    " lines are the single chains. The estimate should converge and stay inside its band."
)
WALKERS = (
    "Two walkers on one Brownian path stay near the diagonal. If they do not, extrapolated"
    " estimates have a large variance."
)
NOISE = (
    "The variance that minibatch gradients add to a step in each direction, as a share of the"
    " injected variance. Below the dashed line a standard deviation is less than 5 % too large."
)
TEMPERATURE = (
    "The mean square of the momentum, which gradient noise increases. It should converge to the"
    " dashed line."
)
STEPS = "Estimates weight each draw by its step size."
