"""Nothing wrong is called calibrated: random small models, kernels, data and faults.

A failure names its seed. `python -m tests.fuzz SEED` makes the case again.
"""

import pytest

from tests.fuzz.cases import CASES, NAMES, run_case, seeds_of, sound_case

pytestmark = [pytest.mark.fuzz, pytest.mark.long]

SOUND = (
    "SGLD, untuned",
    "SGHMC, untuned, two chains",
    "SGHMCSplit, untuned",
    "SGHMCSplit, untuned, conjugate",
    "SGHMCSplit, untuned, one chain",
)
SOUND_SEEDS = range(CASES, CASES + 4)
ROUNDS = 2
LARGE = ("SGHMCSplit, 320 coordinates", "SGHMCSplit, untuned, 400 coordinates")
"""Programs that compute for longer than they take to compile with optimisation."""


@pytest.mark.parametrize(
    "program",
    [pytest.param(name, marks=pytest.mark.slow) if name in LARGE else name for name in NAMES],
    scope="module",
)
def test_a_wrong_run_is_never_called_calibrated(program):
    """Errors beyond the stated tolerances and 4 Monte Carlo standard errors: see `errors.py`."""
    outcomes = [run_case(seed) for seed in seeds_of(program)]
    wrong = [str(outcome) for outcome in outcomes if outcome.is_wrong]
    assert not wrong, "\n".join(["Called calibrated, and are not:", *wrong])


@pytest.mark.parametrize("program", SOUND, scope="module")
def test_exact_draws_are_called_calibrated(program):
    """A verdict that always refuses would pass the test above.

    By design a verdict's advice is enough for 90 % of runs, so that two rounds of it fail for 1 %,
    and more than one of four for less than 1e-3.
    """
    outcomes = [sound_case(program, seed, ROUNDS) for seed in SOUND_SEEDS]
    refused = [str(outcome) for outcome in outcomes if not outcome.calibrated]
    assert len(refused) <= 1, "\n".join(["Exact draws, refused:", *refused])
