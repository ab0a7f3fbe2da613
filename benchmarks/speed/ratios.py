"""Arithmetic of ratios: taken round by round, their median reported."""

import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Bar(NamedTuple):
    """What a ratio is held to.

    Attributes:
        limit: the largest number that meets it, or the smallest where `at_least`.
        unit: of the number, "x" for ratios.
        at_least: whether larger is better.
    """

    limit: float
    unit: str = "x"
    at_least: bool = False

    def is_met(self, measured: float) -> bool:
        """Whether a number meets the bar; one that is not finite does not."""
        if measured != measured:
            return False
        return measured >= self.limit if self.at_least else measured <= self.limit

    def __str__(self) -> str:
        sign = "≥" if self.at_least else "≤"
        return f"{sign} {number(self.limit)} {self.unit}"


def number(value: float) -> str:
    """Return a number with three digits at least, none behind the point from 100 on."""
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def median_ratio(above: Sequence[float], below: Sequence[float]) -> float:
    """Return the median over rounds of one side over the other."""
    return statistics.median(a / b for a, b in zip(above, below, strict=True))


def medians(costs: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return each side's median over rounds."""
    return {side: statistics.median(rounds) for side, rounds in costs.items()}


def orders(sides: Sequence[str], rounds: int) -> list[list[str]]:
    """Return each round's order of the sides, every other one reversed."""
    return [list(sides) if turn % 2 == 0 else list(sides)[::-1] for turn in range(rounds)]
