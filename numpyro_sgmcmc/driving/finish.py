"""The end of a run: what it leaves to `MCMC` and to the results."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from numpyro.infer import MCMC

from numpyro_sgmcmc.checks import warn_user
from numpyro_sgmcmc.driving.loop import Stopped
from numpyro_sgmcmc.driving.on_disk import DrawsOnDisk, FlatDraws, LoadedDraws
from numpyro_sgmcmc.driving.plan import Plan
from numpyro_sgmcmc.driving.program import Layout
from numpyro_sgmcmc.running import Outcome, remember


def leave_to_mcmc(mcmc: MCMC, state: Any, layout: Layout, grouped: Any, flat: Any) -> None:
    """Give `MCMC` the last state and the draws, as its own `run` does."""
    if layout.is_sequential:
        state = jax.tree.map(lambda *leaves: jnp.stack(leaves), *state)
    mcmc._last_state, mcmc._states, mcmc._states_flat = state, grouped, flat
    mcmc._set_collection_params()


def read_back(keeper: DrawsOnDisk, plan: Plan, shapes: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Return the draws of a folder, with and without the axis of chains, and those of the warm-up.

    They are read when they are asked for.
    """
    held = keeper.committed()
    grouped = LoadedDraws(held, "sample", shapes)
    warmup = LoadedDraws(held, "warmup", shapes) if plan.collects_warmup else None
    return grouped, FlatDraws(grouped), warmup


def sentence_of(plan: Plan, stopped: Stopped) -> str:
    """Return in words how a run ended."""
    draws = plan.draws_after(stopped.iterations)
    share = f"{draws:,} of {plan.draws:,} draws of each chain"
    if stopped.why == "interrupted":
        return f"interrupted by the user after {share}"
    if stopped.why == "precise":
        return f"precise enough after {share}: {stopped.precision}"
    found = f"; `until` was not met: {stopped.precision}" if stopped.precision else ""
    return f"all {plan.draws:,} draws of each chain{found}"


def conclude(
    mcmc: MCMC,
    plan: Plan,
    stopped: Stopped,
    warmup: Any,
    wall_time: float,
    notes: tuple[str, ...] = (),
) -> None:
    """Attach the outcome to `MCMC`, and warn if the run is shorter than requested.

    Raises:
        KeyboardInterrupt: if the user interrupted the run before its first draw.
    """
    draws, sentence = plan.draws_after(stopped.iterations), sentence_of(plan, stopped)
    outcome = Outcome(stopped.why, sentence, draws, wall_time, warmup, notes, mcmc._states)
    remember(mcmc, outcome)
    if stopped.why == "interrupted":
        if not draws:
            raise KeyboardInterrupt("interrupted before the first draw")
        warn_user(f"The run was {sentence}. Its results are those of these draws.")
    if stopped.why == "complete" and stopped.precision:
        warn_user(
            f"The run ended at `num_samples`, {plan.draws:,} draws of each chain, before `until`"
            f" was met: {stopped.precision}. Ask for more `num_samples`."
        )
