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
    values = answer.values
    shape = len(request.keys), len(request.position) + 1
    if values.shape != shape or values.dtype != request.position.dtype:
        return "misshapen"
    return None if np.isfinite(values[: request.count]).all() else "not finite"
