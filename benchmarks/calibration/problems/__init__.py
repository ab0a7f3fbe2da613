"""The models with their data, minibatches and references, by name."""

from benchmarks.calibration.problems.hierarchies import MORE_LEVELS, ONE_LEVEL
from benchmarks.calibration.problems.latent import LATENT, PREDICTED
from benchmarks.calibration.problems.problem import Problem
from benchmarks.calibration.problems.regressions import DESIGNS, RESPONSES, TALL

__all__ = ["PROBLEMS", "Problem"]

PROBLEMS = TALL | DESIGNS | RESPONSES | ONE_LEVEL | MORE_LEVELS | LATENT | PREDICTED
