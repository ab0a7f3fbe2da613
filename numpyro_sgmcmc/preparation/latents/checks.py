"""Options that have no meaning, or are not supported, for models with latents of rows."""

import numpy as np

from numpyro_sgmcmc.checks import warn_user
from numpyro_sgmcmc.model import Structure
from numpyro_sgmcmc.preparation.options import Options
from numpyro_sgmcmc.preparation.thresholds import DENSE_DIMENSION

MOST_BYTES = 2**32
"""Largest memory of the latents of one chain and what belongs to them."""

MANY_TRANSITIONS = 2_000
"""Transitions from one visit of a row to the next from which on larger minibatches are advised."""


TABLE_BYTES = 2**28
"""Largest memory of the gradients of all rows in one chain, above `DENSE_DIMENSION`."""

TABLE_NUMBERS = 2**18
"""Largest number of entries of a minibatch's rows in that table. A transition reads, computes and
writes them, where a plain gradient is one sum over rows."""


def is_matrix_formed(structure: Structure) -> bool:
    """Return whether walkers settle with the Hessian in the shared parameters."""
    return structure.dimension <= DENSE_DIMENSION


def can_have_table(structure: Structure) -> bool:
    """Return whether a chain can keep the gradient of each row in the shared parameters."""
    if is_matrix_formed(structure):
        return True
    local = structure.local
    assert local is not None
    size = local.rows * structure.dimension * np.dtype(np.float32).itemsize
    numbers = structure.plates[local.plate].subsample_size * structure.dimension
    return size <= TABLE_BYTES and numbers <= TABLE_NUMBERS


def check_options(options: Options, structure: Structure) -> None:
    """Raise an error for options that do not go with latents of rows.

    Raises:
        TypeError: for a gradient estimator, a preconditioner that follows the walker, stale
            gradients, a noise correction, or minibatches that depend on each other.
        ValueError: for a temperature other than 1, more than 300
            shared parameters without a step size where the table of gradients would be large, or
            more latents than memory is allowed for.
    """
    local = structure.local
    assert local is not None
    named = f"latents of rows ({', '.join(map(repr, local.names))} in plate {local.plate!r})"
    if options.gradient is not None:
        raise TypeError(
            f"Expected `gradient=None` for a model with {named}; got"
            f" {type(options.gradient).__name__}, an estimator for shared parameters alone. The"
            " gradient at the latents of rows is the kernel's own: leave `gradient` out, and use"
            " SGHMCSplit, SGHMC or SGLD."
        )
    if options.staleness is not None:
        raise TypeError(
            f"Expected fresh gradients for a model with {named}; got stale ones, whose latents"
            " would have moved on. Use the kernel itself, without StaleGradient or AsyncMCMC."
        )
    if options.noise_correction:
        raise TypeError(
            f"Expected no noise correction for a model with {named}; got"
            f" {options.noise_correction!r}. The noise depends on the latents: leave it out."
        )
    preconditioner = options.preconditioner
    if preconditioner is not None and not preconditioner.is_constant:
        raise TypeError(
            f"Expected a constant preconditioner for a model with {named}; got"
            f" {type(preconditioner).__name__}. Leave `preconditioner` out, or use Diagonal(scale)"
            " or Dense(factor)."
        )
    if not options.minibatch.is_independent:
        raise TypeError(
            f"Expected independent minibatches for a model with {named}; got"
            f" {type(options.minibatch).__name__}. Within an epoch the rows that come next are"
            " those whose gradients in the table are the oldest, which makes the estimate biased:"
            " leave `minibatch` out, or use UniformMinibatch()."
        )
    if options.temperature != 1:
        raise ValueError(
            f"Expected `temperature=1` for a model with {named}; got {options.temperature}. For a"
            " point estimate use SVI (`numpyro.infer.SVI`) with `AutoDelta`."
        )
    if options.step_size is None and not can_have_table(structure):
        raise ValueError(
            f"Expected a step size in a model with {named} and more than {DENSE_DIMENSION} shared"
            f" parameters, where a table of all rows' gradients would be large; got"
            f" `step_size=None`, {structure.dimension:,} shared parameters and minibatches of"
            f" {structure.plates[local.plate].subsample_size:,} of {local.rows:,} rows. Pass"
            " `step_size`, `num_steps` and, where you know the scales of the parameters,"
            " `preconditioner=Diagonal(scale)`; `diagnose` then tells what gradient noise and step"
            " size do to the variances."
            f"{_smaller_minibatches(structure)}"
        )
    each = local.dimension * (1 + local.dimension) + local.elements
    each += local.averages + local.moments + 1
    if is_matrix_formed(structure) or options.step_size is None:
        each += structure.dimension
    size = local.rows * each * np.dtype(np.float32).itemsize
    if size > MOST_BYTES:
        raise ValueError(
            f"Expected latents of rows that take at most {MOST_BYTES / 2**30:.0f} GiB of memory"
            f" for each chain; got {local.rows:,} rows x {each:,} numbers = {size / 2**30:.3g} GiB."
            " Use fewer rows, fewer latents of each row, or fewer shared parameters."
        )
    plate = structure.plates[local.plate]
    transitions = plate.size / plate.subsample_size
    if transitions > MANY_TRANSITIONS:
        warn_user(
            f"A minibatch of {plate.subsample_size:,} of {plate.size:,} rows moves the latents of a"
            f" row once in {transitions:,.0f} transitions, so that an independent draw takes many"
            " times as many. Use larger minibatches: what a transition costs besides its rows is"
            " then shared by more of them."
        )


def _smaller_minibatches(structure: Structure) -> str:
    """Return advice on minibatches with which a table can be kept, if there are any."""
    local = structure.local
    assert local is not None
    most = TABLE_NUMBERS // structure.dimension
    size = local.rows * structure.dimension * np.dtype(np.float32).itemsize
    if size > TABLE_BYTES or most < 10:
        return ""
    return f" Or use minibatches of at most {most:,} rows, with which the warm-up chooses them."
