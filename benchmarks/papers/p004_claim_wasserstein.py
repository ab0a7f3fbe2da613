"""Brosse et al. (2018), lemma 1 and theorems 2 and 4: contraction and Wasserstein bounds.

On the linear regression of the paper's section 3.1, where second moments of coupled chains are
exact (`p004_couplings`), and with them upper and lower bounds of Wasserstein distances.
"""

import sys
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np

from benchmarks.papers.command import main
from benchmarks.papers.common import Row, column, mean_and_error, select, worst_score
from benchmarks.papers.criteria import above, below, decided, inside
from benchmarks.papers.finding import Finding
from benchmarks.papers.p004_couplings import BATCH, data, regression
from benchmarks.papers.picture import label, legend, line, panels, points
from benchmarks.papers.simulate import Runner
from numpyro_sgmcmc import SGLD, SGLDFP
from tests.oracles import linear

TITLE = "Distances between chains"
MEASURED = ("measured",)
SIZES = (100, 1_000, 10_000, 100_000)
MEASURED_SIZE = 1_000
STEPS = (1, 5, 20, 100, 1_000)
CHAINS = 4_000
ACCURACY = 0.2
"""Of the cost's comparison, in units of 1 / sqrt(N)."""
START = 1.0
"""Distance of the second start in lemma 1."""
PAIRS = {
    "SGLD, SGLD": "lemma 1, SGLD from two starts",
    "SGLDFP, SGLDFP": "lemma 1, SGLDFP from two starts",
    "LMC, SGLDFP": "theorem 2 i",
    "SGLD, SGD": "theorem 2 iii",
    "SGLD, SGLDFP": "theorem 4 i",
}


def measure(quick: bool = False) -> list[Row]:
    """Return mean squared distances of coupled chains, and their bounds, at gamma = 1 / L."""
    shown = (5, 20) if quick else (1, 5, 20)
    sizes = (MEASURED_SIZE,) if quick else SIZES
    ran = {steps: _runs(steps) for steps in shown}
    rows = []
    for size in sizes:
        for steps in STEPS:
            for pair in PAIRS:
                exact, bound = _exact(pair, size, steps), _bound(pair, size, steps)
                # LMC and SGLDFP take the same first step, up to rounding.
                is_run = size == MEASURED_SIZE and steps in ran and exact > 0
                measured, error = ran[steps][pair] if is_run else (np.nan, np.nan)
                row = {"pair": pair, "N": size, "steps": steps, "measured": measured}
                rows.append(row | {"error": error, "exact": exact, "bound": bound})
    return rows


def _exact(pair: str, size: int, steps: int) -> float:
    """Return E |e - e'|^2, or for theorem 4 the square of the difference of deviations."""
    model = regression(size)
    g = 1 / model.lipschitz
    one, other = pair.split(", ")
    if one == other:
        return START**2 * model.keep(g) ** steps
    if pair == "SGLD, SGLDFP":
        return (np.sqrt(model.spread(one, g, steps)) - np.sqrt(model.spread(other, g, steps))) ** 2
    return model.apart(pair, g, steps)


def _bound(pair: str, size: int, steps: int) -> float:
    """Return the paper's bound: from above, or for theorem 4 from below."""
    model = regression(size)
    g, m, largest = 1 / model.lipschitz, model.curvature, model.lipschitz
    if pair in ("SGLD, SGLD", "SGLDFP, SGLDFP"):
        return START**2 * (1 - m * g) ** steps
    if pair == "LMC, SGLDFP":
        return 2 * largest**2 * g / (BATCH * m**2)
    if pair == "SGLD, SGD":
        return 2 / m
    mu = model.keep(g)  # the theorem's mu is some number of (0, 1 - g S]; this one is the rate
    step = np.sqrt(2 * g + g**2 * model.offset) - np.sqrt(2 * g)
    return float(step**2 * (1 - mu**steps) / (1 - mu))


def _runs(steps: int) -> dict[str, tuple[float, float]]:
    """Return measured distances and their errors; chains of equal numbers share all noise."""
    mode = regression(MEASURED_SIZE).mode
    at = {name: _ends(name, mode, steps) - mode for name in ("LMC", "SGLD", "SGLDFP", "SGD")}
    away = {name: _ends(name, mode + START, steps) - mode for name in ("SGLD", "SGLDFP")}
    found = {f"{name}, {name}": (away[name] - at[name]) ** 2 for name in away}
    found["LMC, SGLDFP"] = (at["LMC"] - at["SGLDFP"]) ** 2
    found["SGLD, SGD"] = (at["SGLD"] - at["SGD"]) ** 2
    result = {}
    for pair, values in found.items():
        value, error = mean_and_error(values)
        result[pair] = float(value), float(error)
    result["SGLD, SGLDFP"] = _difference(at["SGLD"], at["SGLDFP"])
    return result


def _difference(one: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """Return the squared difference of root mean squares, and its error to first order."""
    moments = [np.mean(x**2) for x in (one, other)]
    change = one**2 / (2 * np.sqrt(moments[0])) - other**2 / (2 * np.sqrt(moments[1]))
    value = float(np.sqrt(moments[0]) - np.sqrt(moments[1]))
    error = float(change.std(ddof=1) / np.sqrt(len(change)))
    return value**2, 2 * abs(value) * error


_RUNNERS: dict[str, Runner] = {}


def _ends(method: str, start: float, steps: int) -> np.ndarray:
    """Return the last positions of chains of a method."""
    model = regression(MEASURED_SIZE)
    if method not in _RUNNERS:
        design, y = (jnp.asarray(x, jnp.float32) for x in data(MEASURED_SIZE))
        make = partial(_kernel, method, model.mode)
        _RUNNERS[method] = Runner(make, (design, y), lambda state: state.z["theta"])
    where = np.full((CHAINS, 1), start)
    run = {"start": where, "burn_in": 0, "blocks": 1, "length": steps, "seed": steps}
    return _RUNNERS[method]([1 / model.lipschitz], **run).positions[0, :, -1, 0]


def _kernel(method: str, mode: float, dial: Any) -> Any:
    batch = None if method == "LMC" else BATCH
    model = partial(linear.model, scale=jnp.ones(1), subsample_size=batch)
    if method == "SGLDFP":
        return SGLDFP(model, dial, anchor={"theta": jnp.full(1, mode, jnp.float32)})
    return SGLD(model, dial, temperature=0.0 if method == "SGD" else 1.0)


def findings(rows: list[Row]) -> list[Finding]:
    """Compare distances with bounds, and their powers of N with the corollary's."""
    found = [_holds(rows, pair) for pair in PAIRS]
    return [*found, _diffusion(), *_rates(), *_costs()]


def _holds(rows: list[Row], pair: str) -> Finding:
    mine = select(rows, pair=pair)
    ran = [row for row in mine if np.isfinite(row["measured"])]
    sign = -1 if pair == "SGLD, SGLDFP" else 1
    ratios = [(row["exact"] / row["bound"]) ** sign for row in mine]
    worst = [(row["measured"] / row["bound"], row["error"] / row["bound"]) for row in ran]
    value, error = (min if sign < 0 else max)(worst)
    # The exact numbers judge every N and length. They bound the distance from the side that can
    # show the claim and never refute it; a bound may be attained, up to rounding.
    within = max(ratios) <= 1 + 1e-9 and all(_has_rate(row["N"]) for row in mine)
    shown = decided(within, False)
    what = "below" if sign > 0 else "above"
    return Finding(
        f"squared distance {what} the bound of {PAIRS[pair]}, γ = 1 / L",
        f"{value:.3g} ± {error:.2g} times the bound at N = {ran[0]['N']:,}, "
        f"{'least' if sign < 0 else 'largest'} of {len(ran)} lengths",
        f"{'from' if sign < 0 else 'up to'} {max(ratios) ** sign:.3g} times, N ="
        f" {mine[0]['N']:,} to {mine[-1]['N']:,}, n = {STEPS[0]} to {STEPS[-1]:,}",
        shown,
        worst_score(ran),
    )


def _has_rate(size: int) -> bool:
    """Return whether q <= 1 - g S, which theorem 4 asks of its mu, at g = 1 / L."""
    model = regression(size)
    g = 1 / model.lipschitz
    return model.keep(g) <= 1 - g * model.curvature


def _diffusion() -> Finding:
    """Judge theorem 2 ii, Langevin diffusion against LMC, whose laws are normal."""
    worst = 0.0
    for size in SIZES:
        model = regression(size)
        g, m, largest = 1 / model.lipschitz, model.curvature, model.lipschitz
        factor = (m + largest) / (2 * m) * (3 + largest / m) * (13 / 6 + largest / m)
        for steps in STEPS:
            true = (1 - np.exp(-2 * m * g * steps)) / m
            distance = np.sqrt(model.spread("LMC", g, steps)) - np.sqrt(true)
            worst = max(worst, distance**2 / (g * factor))
    return Finding(
        "squared distance below the bound of theorem 2 ii, γ = 1 / L",
        "",
        f"up to {worst:.2g} times",
        below(worst, 0.0, 1.0),
        None,
    )


def _distances(what: str, size: int, eta: float = 0.1) -> float:
    """Return a bound of a stationary distance: from above, or from below for SGLD."""
    model = regression(size)
    g = eta / size
    far = 10**9
    if what == "SGLD":
        return float(np.sqrt(model.spread("SGLD", g, np.inf)) - model.curvature**-0.5)
    if what == "LMC":
        return float(np.sqrt(model.spread("LMC", g, np.inf)) - model.curvature**-0.5)
    return float(np.sqrt(model.apart(what, g, far)))


def _rates() -> list[Finding]:
    texts = {
        "LMC, SGLDFP": ("LMC and SGLDFP", -0.5, "at most, by coupling"),
        "SGLD, SGD": ("SGLD and SGD", -0.5, "at most, by coupling"),
        "LMC": ("LMC and the posterior", -0.5, "exactly"),
        "SGLD": ("SGLD and the posterior", 0.0, "at least, by variances"),
    }
    found = []
    ends = SIZES[1], SIZES[-1]
    for what, (text, claimed, how) in texts.items():
        low, high = (_distances(what, size) for size in ends)
        power = float(np.log(high / low) / np.log(ends[1] / ends[0]))
        claim = f"as N^{claimed:g} (corollary 3), within a tenth"
        verdict = inside(power, 0.0, claimed - 0.1, claimed + 0.1)
        if claimed == 0:
            claim = "does not fall with N (theorem 4 ii), power above -0.1"
            verdict = above(power, 0.0, -0.1)
        found.append(
            Finding(
                f"distance of the stationary distributions of {text} {claim}, γ = 0.1 / N",
                "",
                f"N^{power:.3f} from N = {ends[0]:,} to {ends[1]:,}, {how}",
                verdict,
                None,
            )
        )
    return found


def steps_needed(method: str, size: int, eta: float = 0.1) -> int:
    """Return the steps from the mode to within ACCURACY / sqrt(N) of the posterior.

    For SGLDFP by the triangle inequality through LMC, coupled to it: an upper bound.
    """
    model = regression(size)
    g, wanted = eta / size, ACCURACY / np.sqrt(size)
    for steps in range(1, 10_000):
        spread = np.sqrt(model.spread("LMC", g, steps))
        distance = abs(spread - model.curvature**-0.5)
        if method == "SGLDFP":
            distance += np.sqrt(model.apart("LMC, SGLDFP", g, steps))
        if distance <= wanted:
            return steps
    raise ValueError(f"Expected {method} to come within {wanted:g}; it does not.")


def _costs() -> list[Finding]:
    """Judge the cost at equal accuracy: rows visited until the distance is small."""
    found = []
    for method, claimed in (("LMC", 1), ("SGLDFP", 0)):
        rows = {n: (n if method == "LMC" else BATCH) * steps_needed(method, n) for n in SIZES}
        power = float(np.log(rows[SIZES[-1]] / rows[SIZES[0]]) / np.log(SIZES[-1] / SIZES[0]))
        text = ", ".join(f"{v:,}" for v in rows.values())
        found.append(
            Finding(
                f"{method} visits Θ({'N' if claimed else '1'}) rows from the mode to a distance of"
                f" {ACCURACY:g} / √N: power {claimed} of N, within a tenth",
                "",
                f"{text} rows at N = {SIZES[0]:,} to {SIZES[-1]:,}: N^{power:.2f}",
                inside(power, 0.0, claimed - 0.1, claimed + 0.1),
                None,
            )
        )
    return found


def setting(rows: list[Row]) -> list[str]:
    """Return what was run."""
    return [
        "Linear regression in one dimension, the paper's section 3.1, x ~ N(0, 1), unit variances,"
        f" p = {BATCH}, N = {', '.join(f'{n:,}' for n in SIZES)}; L = (N + 1) max U_i'' as in the"
        " paper and m the posterior's precision. Chains that share minibatches and injected noise"
        " are a coupling: their mean squared distance is exact and bounds the squared Wasserstein"
        " distance from above. Differences of standard deviations bound it from below (theorem 4)."
        f" Measured: {CHAINS:,} pairs of our kernels' chains from the same keys,"
        f" N = {MEASURED_SIZE:,}.",
    ]


def remarks(rows: list[Row]) -> list[str]:
    """Return what else the numbers show."""
    model = regression(MEASURED_SIZE)
    g = 1 / model.curvature
    needed = 1 / model.keep(g) if model.keep(g) > 0 else np.inf
    limit = 2 * model.curvature / (model.curvature**2 + model.slope)
    return [
        f"L is {model.lipschitz / model.curvature:.0f} times the curvature at N ="
        f" {MEASURED_SIZE:,}, as it is N times the largest row's: γ = 1 / L is"
        f" {1 / model.lipschitz / limit:.2f} of the step size at which the mean squared distance of"
        " SGLD's chains stops to fall.",
        "Theorem 4 i holds with μ = (1 - γ Σ)² + γ² E ρ², the rate of the mean squares, and the"
        " difference of standard deviations attains it.",
        f"At γ = 1 / curvature, where LMC forgets its start in one step, it falls {needed:.1f}-fold"
        f" a step with p = {BATCH}.",
        "The cost of SGLDFP leaves out finding the mode, which takes passes over all rows.",
    ]


def draw(rows: list[Row]) -> Any:
    """Draw distances and bounds against the length, and rows visited against N."""
    figure, (left, right) = panels(2, 4.0)
    for number, pair in enumerate(PAIRS):
        mine = select(rows, pair=pair, N=MEASURED_SIZE)
        ran = [row for row in mine if np.isfinite(row["measured"])]
        size, error = column(ran, "measured"), column(ran, "error")
        points(left, column(ran, "steps"), size, error, number, PAIRS[pair])
        line(left, column(mine, "steps"), column(mine, "exact"), number)
        line(left, column(mine, "steps"), column(mine, "bound"), number, linestyle=":")
    left.set_ylim(1e-6, 10)
    left.plot([], [], ":", color="0.3", label="bound")
    for number, method in enumerate(("LMC", "SGLDFP"), start=5):
        cost = [(n if method == "LMC" else BATCH) * steps_needed(method, n) for n in SIZES]
        line(right, np.array(SIZES), np.array(cost), number)
        right.annotate(method, (SIZES[-2], cost[-2]), textcoords="offset points", xytext=(0, 6))
    label(left, f"N = {MEASURED_SIZE:,}, γ = 1 / L", "steps n", "squared distance")
    label(right, f"to a distance of {ACCURACY:g} / √N", "rows N", "rows visited")
    legend(figure, left, 3, "exact")
    return figure


if __name__ == "__main__":
    main(sys.modules[__name__])
