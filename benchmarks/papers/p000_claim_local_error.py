"""Chen, Ding and Carin (2015), lemma 8: the splitting scheme's local error is of order three.

The error of one step from a point, P_h f - e^(hL) f, for f among theta, p and their products, in
units of the posterior's standard deviation. On the Gaussian model both are matrix exponentials or
matrices; ours are those of the package's own dynamics, in double precision.
"""

import sys
from typing import Any

import jax
import numpy as np
from scipy.linalg import expm

from benchmarks.papers.command import main
from benchmarks.papers.common import Row, column, select, worst_score
from benchmarks.papers.criteria import order
from benchmarks.papers.explicit_euler import ExplicitEuler
from benchmarks.papers.finding import Finding
from benchmarks.papers.gaussian import BATCH, RECURSIONS, UNIT
from benchmarks.papers.gaussian import setting as setting_of_model
from benchmarks.papers.picture import label, legend, line, panels, points
from numpyro_sgmcmc.dynamics import Hamiltonian, Splitting
from numpyro_sgmcmc.stationary.matrices import matrices
from tests.oracles.recursion import Recursion

TITLE = "Local error of one step"
MEASURED = ("measured",)
FRICTION = 30.0
SIZES = tuple(float(f"{h:.0e}") for h in 10.0 ** np.arange(-5, -1.9, 0.5))
DYNAMICS = {"splitting": Splitting, "hamiltonian": Hamiltonian, "explicit": ExplicitEuler}
NAMES = {"splitting": "splitting", "hamiltonian": "semi-implicit Euler", "explicit": "Euler"}
CASES = {
    "exact": "exact gradients",
    "one minibatch": "one minibatch, against the diffusion with its gradient",
    "all minibatches": f"over all minibatches, B = {BATCH}, against the diffusion",
}
CLAIMED = {"splitting": 3, "hamiltonian": 2, "explicit": 2}
START = np.array([1.0, 1.0])
"""theta in standard deviations from the mean, and p."""
ROUNDING = 1e-14


def measure(quick: bool = False) -> list[Row]:
    """Return the largest local error over the functions, for each scheme, case and step size."""
    sizes = SIZES[:2] if quick else SIZES
    return [
        {
            "scheme": scheme,
            "case": case,
            "step_size": h,
            "measured": _error(_package(scheme, h), case, h),
            "error": ROUNDING,
            "exact": _error(RECURSIONS[scheme](h, UNIT, FRICTION), case, h),
        }
        for scheme in DYNAMICS
        for case in CASES
        for h in sizes
    ]


def _package(scheme: str, h: float) -> Recursion:
    """Return the matrices of the package's own step."""
    with jax.enable_x64(True):
        one = matrices(DYNAMICS[scheme](FRICTION), h, np.zeros(1))
    return Recursion(one.free[0], one.kick[0][:, None], one.heat[0], one.look)


def _error(step: Recursion, case: str, h: float) -> float:
    """Return the largest difference of the expected functions after one step and after time h."""
    post = setting_of_model()
    curvature = post.hessian[0, 0]
    variance = float(post.gradient_noise(BATCH, replace=False).at_mode[0, 0])
    # A minibatch whose gradient's error is one standard deviation.
    shift = np.sqrt(variance) if case == "one minibatch" else 0.0
    spread = variance if case == "all minibatches" else 0.0
    start = START / np.array([np.sqrt(curvature), 1.0])
    mean = step.transition(post.hessian) @ start + step.kick[:, 0] * shift
    covariance = spread * step.kick @ step.kick.T + h * step.heat @ step.heat.T
    exact = diffusion(curvature, shift, start, h)
    units = np.array([np.sqrt(curvature), 1.0])
    found = [
        _functions(m * units, c * np.outer(units, units)) for m, c in ((mean, covariance), exact)
    ]
    return float(np.abs(found[0] - found[1]).max())


def _functions(mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Return E of theta, p, theta^2, theta p and p^2."""
    second = covariance + np.outer(mean, mean)
    return np.concatenate([mean, second[np.triu_indices(2)]])


def diffusion(
    curvature: float, shift: float, start: np.ndarray, time: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and covariance after a time of d theta = p dt, dp = -(g + D p) dt + noise.

    g = curvature theta + shift. The covariance follows from an exponential of twice the size (Van
    Loan 1978).
    """
    drift = np.array([[0.0, 1.0], [-curvature, -FRICTION]])
    load = np.diag([0.0, 2 * FRICTION])
    affine = np.zeros((3, 3))
    affine[:2, :2], affine[1, 2] = drift, -shift
    mean = expm(time * affine)[:2] @ np.append(start, 1.0)
    both = expm(time * np.block([[-drift, load], [np.zeros((2, 2)), drift.T]]))
    return mean, both[2:, 2:].T @ both[:2, 2:]


def findings(rows: list[Row]) -> list[Finding]:
    """Compare the orders in h."""
    found = [_order(rows, "splitting", case, 3) for case in CASES]
    return found + [
        _order(rows, name, "exact", CLAIMED[name]) for name in ("hamiltonian", "explicit")
    ]


def _order(rows: list[Row], scheme: str, case: str, claimed: int) -> Finding:
    mine = select(rows, scheme=scheme, case=case)
    small = mine[:2]
    size, value = column(small, "step_size"), column(small, "measured")
    width = float(np.log(size[1] / size[0]))
    measured = float(np.log(value[1] / value[0])) / width
    error = float(np.hypot(*(column(small, "error") / value))) / width
    exact = float(np.log(small[1]["exact"] / small[0]["exact"])) / width
    lemma = "the local error of splitting is of order 3 (lemma 8)"
    text = lemma if scheme == "splitting" else f"that of {NAMES[scheme]} is of order 2"
    return Finding(
        f"{text}: {CASES[case]}",
        f"slope {measured:.3f} ± {error:.0e}, h = {size[0]:g} to {size[1]:g}",
        f"{exact:.3f}",
        order(claimed, measured, error),
        worst_score(mine),
    )


def setting(rows: list[Row]) -> list[str]:
    """Return what was run."""
    sizes = sorted({row["step_size"] for row in rows})
    return [
        f"One step of D = {FRICTION:.0f} from θ one posterior standard deviation from the mean and"
        f" p = 1, h = {sizes[0]:g} to {sizes[-1]:g}. The error is the largest of those of the"
        " expectations of θ, p, θ², θ p and p², θ in standard deviations. Measured: the matrices of"
        " the package's dynamics, in double precision (their error is that of rounding). Exact: the"
        " tests' own matrices; the diffusion's are matrix exponentials. The minibatch's gradient is"
        " off by one standard deviation of the gradient noise.",
    ]


def remarks(rows: list[Row]) -> list[str]:
    """Return what else the numbers show."""
    h = max(row["step_size"] for row in rows)
    one, every = (
        select(rows, scheme="splitting", case=case, step_size=h)[0]["exact"]
        for case in ("exact", "all minibatches")
    )
    return [
        "The lemma is about the diffusion with one minibatch's gradient. Averaged over minibatches,"
        " one step adds h² V to the variance of p, which the diffusion does not: an error of order"
        " two, and so a bias of order one. It is in this average that theorem 2 counts on mean"
        f" zero. At h = {h:g} it is {every / one:.3g} times the error with exact gradients.",
    ]


def draw(rows: list[Row]) -> Any:
    """Draw the local errors against h."""
    figure, (axis,) = panels(1)
    shown = [("splitting", case) for case in CASES]
    shown += [(name, "exact") for name in ("hamiltonian", "explicit")]
    for number, (scheme, case) in enumerate(shown):
        mine = select(rows, scheme=scheme, case=case)
        size = column(mine, "step_size")
        points(axis, size, column(mine, "measured"), None, number, f"{NAMES[scheme]}, {case}")
        line(axis, size, column(mine, "exact"), number)
    label(axis, "", "step size h", "largest local error")
    legend(figure, axis, 2, "exact")
    return figure


if __name__ == "__main__":
    main(sys.modules[__name__])
