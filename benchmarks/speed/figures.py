"""The twelve figures in their order: module and what it measures."""

from typing import NamedTuple


class Figure(NamedTuple):
    """One figure: its number, and its title in a word or two."""

    number: int
    title: str


FIGURES = {
    "step_langevin": Figure(1, "step of SGLD"),
    "step_others": Figure(2, "steps of other kernels, and BlackJAX"),
    "step_growth": Figure(3, "step at N = 10⁷ over N = 10⁴"),
    "first_result": Figure(4, "first result"),
    "effective_draws": Figure(5, "effective draws per second"),
    "progress_bar": Figure(6, "default progress bar"),
    "many_chains": Figure(7, "256 vectorised chains"),
    "network": Figure(8, "network of 10⁶ parameters"),
    "memory_of_draws": Figure(9, "memory of kept draws"),
    "second_run": Figure(10, "second run, other data"),
    "long_runs": Figure(11, "`sg.run`, and what a folder costs"),
    "latents": Figure(12, "latents of rows"),
}
