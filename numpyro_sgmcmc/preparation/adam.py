"""Adam from starts at which gradients are larger by orders of magnitude than near the mode."""

from itertools import pairwise

import numpy as np
import optax

from numpyro_sgmcmc.preparation.thresholds import FAR_MEMORY

LARGEST = 0.1 * float(np.finfo(np.float32).max) ** 0.5


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
