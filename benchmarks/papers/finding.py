"""A claim of a paper, what was measured, what is exact, and two verdicts that follow from them."""

from enum import StrEnum
from typing import NamedTuple

Z = 4.0
"""Largest deviation taken for chance, in Monte Carlo standard errors: 6e-5 a comparison."""


class Verdict(StrEnum):
    """What a run says of a statement."""

    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "not resolved"


class Finding(NamedTuple):
    """A claim and what became of it.

    Attributes:
        claim: the paper's.
        measured: our numbers.
        exact: the exact numbers.
        criterion: what a function of `benchmarks.papers.criteria` says of the measured numbers, or
            of the exact ones where nothing was run.
        score: largest deviation of a measured number from its exact value, in standard errors; None
            where nothing was run or no exact value is known.
    """

    claim: str
    measured: str
    exact: str
    criterion: Verdict
    score: float | None

    @property
    def check(self) -> Verdict | None:
        """Whether the measurement agrees with the exact values; None without one of the two."""
        if self.score is None:
            return None
        # A score that is not a number does not hold either.
        return Verdict.HOLDS if self.score <= Z else Verdict.FAILS

    @property
    def verdict(self) -> Verdict:
        """Whether the paper's claim holds: never on the strength of a measurement that is off."""
        return Verdict.FAILS if self.check is Verdict.FAILS else self.criterion

    @property
    def deviation(self) -> str:
        """The deviation from the exact values in words."""
        if self.score is None:
            return "no exact value" if self.measured else "not run"
        text = f"{self.score:.1f} errors"
        return text if self.check is Verdict.HOLDS else f"**{text}**"

    def __str__(self) -> str:
        """Return the line that is printed."""
        return (
            f"{self.claim} | measured {self.measured} | exact {self.exact} | {self.deviation}"
            f" | {self.verdict}"
        )
