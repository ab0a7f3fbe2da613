"""Counts of the failures of a run with workers."""

from collections import Counter
from typing import final

from numpyro_sgmcmc.distributed.refusal import Refusal


@final
class Tally:
    """Counts of refused answers and of lost workers."""

    def __init__(self) -> None:
        self.refused: Counter[Refusal] = Counter()
        self.lost: Counter[str] = Counter()

    def refuse(self, reason: Refusal) -> None:
        """Count a refused answer."""
        self.refused[reason] += 1

    def lose(self, why: str) -> None:
        """Count a lost worker."""
        self.lost[why] += 1

    def words(self) -> str:
        """Return the counts in words; nothing if nothing went wrong."""
        refused = ", ".join(f"{count} {reason}" for reason, count in sorted(self.refused.items()))
        lost = ", ".join(f"{count} {why}" for why, count in sorted(self.lost.items()))
        parts = []
        if refused:
            parts.append(f"refused gradients: {refused}")
        if lost:
            parts.append(f"lost workers: {lost}")
        return "; ".join(parts)
