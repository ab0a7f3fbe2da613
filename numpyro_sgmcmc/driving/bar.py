"""The progress bar, which moves between calls of the compiled program."""

from time import perf_counter
from typing import Any, final

import numpy as np
from tqdm.auto import tqdm

from numpyro_sgmcmc.driving.keeper import AbstractKeeper
from numpyro_sgmcmc.driving.leaves import owned
from numpyro_sgmcmc.driving.plan import Plan, Step
from numpyro_sgmcmc.driving.until import worst

BETWEEN = 5.0
"""Least seconds between two computations of ESS and R-hat."""
SHARE = 0.01
"""The largest share of the time that these computations may take."""
LOOKED_AT = 1_024
"""Most draws of a chain from which ESS and R-hat are computed."""
LEAST = 100
"""Draws of a chain from which on ESS and R-hat are shown."""


@final
class Bar:
    """Shows iterations, their rate, the step size, diverged iterations, ESS and R-hat.

    Args:
        plan: the iterations of the run.
        done: number of iterations before.
        is_shown: whether there is a bar at all.
        is_together: whether chains share their minibatches.
    """

    def __init__(self, plan: Plan, done: int, is_shown: bool, is_together: bool) -> None:
        self._plan, self._is_together = plan, is_together
        self._bar = tqdm(total=plan.iterations, initial=done, disable=not is_shown)
        self._diverged, self._worst, self._next = 0, "", 0.0
        self.is_shown = is_shown

    def move(self, step: Step, draws: Any, keeper: AbstractKeeper, step_size: str) -> None:
        """Show the progress after a step."""
        if not self.is_shown:
            return
        diverging = draws.get("diverging") if step.draws and step.phase == "sample" else None
        self._diverged += 0 if diverging is None else int(np.sum(diverging))
        count = step.place + step.draws
        if step.phase == "sample" and count >= LEAST and perf_counter() >= self._next:
            begin = perf_counter()
            found = worst(keeper.sampled(count, LOOKED_AT), self._is_together)
            # Of more draws than are looked at, the evenly spaced ones give a lower bound.
            least = "at least " if count > LOOKED_AT else ""
            self._worst = f", ESS {least}{found.ess:.0f}, R-hat {found.r_hat:.3f}"
            now = perf_counter()
            self._next = now + max(BETWEEN, (now - begin) / SHARE)
        self._bar.set_description("sample" if step.draws else "warmup", refresh=False)
        diverged = f"{self._diverged} diverged" if "diverging" in (draws or {}) else ""
        shown = ", ".join(word for word in (step_size, diverged) if word)
        self._bar.set_postfix_str(f"{shown}{self._worst}", refresh=False)
        self._bar.update(step.iterations)

    def close(self) -> None:
        """Leave the bar as it is."""
        self._bar.close()


def step_size_of(state: Any) -> str:
    """Return the step size of states in words, or nothing if they have none."""
    found = [_step_size(one) for one in (state if isinstance(state, list) else [state])]
    if any(size is None for size in found):
        return ""
    # Copies, because a program will take the state's memory over.
    sizes = [np.median(np.asarray(size)) for size in owned(found)]
    return f"step size {np.median(sizes):.2e}"


def _step_size(state: Any) -> Any:
    adapted = getattr(state, "adapt_state", state)
    return getattr(adapted, "step_size", None)
