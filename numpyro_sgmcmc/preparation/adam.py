"""Adam from starts at which gradients are larger by orders of magnitude than near the mode."""

from itertools import pairwise

import numpy as np
import optax

from numpyro_sgmcmc.preparation.start_thresholds import (
    FAR_MEMORY,
    FAR_STEPS,
    FIT_STEP_SIZE,
    FIT_STEPS,
    LATER_MEMORY,
    NEARER_MEMORY,
)

LARGEST = 0.1 * float(np.finfo(np.float32).max) ** 0.5
"""A gradient whose square is a hundredth of the largest number in single precision."""


def adam_from_afar(
    step_size: float, steps: int, memories: dict[int, float]
) -> optax.GradientTransformation:
    """Return Adam, whose step size decays to 0 along a cosine and which skips infinite gradients.

    Adam divides by the root mean square of past gradients. Where gradients decrease exponentially
    on the way, it stalls if it remembers the first ones, and stops if their squares overflow. Its
    memory is therefore short at first, and gradients are cut where their squares would overflow.

    Args:
        step_size: the first step size.
        steps: number of steps.
        memories: decay of the mean of squared gradients from each of these steps on. It is
            `FAR_MEMORY` before.
    """
    values = [FAR_MEMORY, *memories.values()]
    factors = (later / former for former, later in pairwise(values))
    changes = dict(zip(memories, factors, strict=True))
    memory = optax.piecewise_constant_schedule(FAR_MEMORY, changes)
    decay = optax.cosine_decay_schedule(step_size, steps)
    adam = optax.inject_hyperparams(optax.adam)(learning_rate=decay, b2=memory)
    cut = optax.chain(optax.clip(LARGEST), adam)
    return optax.apply_if_finite(cut, max_consecutive_errors=steps)


def adam_of_a_fit() -> optax.GradientTransformation:
    """Return the optimizer of a fit of independent Gaussians, for `FIT_STEPS` steps."""
    memories = {FAR_STEPS: NEARER_MEMORY, FIT_STEPS // 2: LATER_MEMORY}
    return adam_from_afar(FIT_STEP_SIZE, FIT_STEPS, memories)
