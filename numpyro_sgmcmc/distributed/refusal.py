"""Reasons to refuse an answer."""

from typing import Literal

import numpy as np

from numpyro_sgmcmc.distributed.messages import Answer, Request

Refusal = Literal["late", "wrong request", "wrong version", "misshapen", "not finite"]
"""Late: the request has been answered before."""


def refusal_of(answer: Answer, request: Request) -> Refusal | None:
    """Return why an answer to a request must not be used, or None."""
    if (answer.server, answer.step) != (request.server, request.step):
        return "wrong request"
    if answer.version != request.version:
        return "wrong version"
    capacity, dimension = len(request.keys), len(request.position)
    shapes = np.shape(answer.energies), np.shape(answer.gradients)
    if shapes != ((capacity,), (capacity, dimension)):
        return "misshapen"
    if answer.gradients.dtype != request.position.dtype:
        return "misshapen"
    used = answer.energies[: request.count], answer.gradients[: request.count]
    return None if all(np.isfinite(x).all() for x in used) else "not finite"
