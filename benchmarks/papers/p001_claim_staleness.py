"""Chen et al. (2016): what staleness and servers do to variance, bias and mean squared error.

Theorem 4: the variance of an average does not depend on the staleness. Theorem 2: the bias has a
term proportional to the largest staleness. Theorems 6 and 7: S servers, which are independent
chains, divide the variance by S and leave the bias.
"""

import sys
from functools import cache, partial
from typing import Any

import jax.numpy as jnp
import numpy as np

from benchmarks.papers.command import main
from benchmarks.papers.common import Row, column, mean_and_error, select, slope, worst_score
from benchmarks.papers.criteria import below, inside, order, ratio
from benchmarks.papers.delay_law import exact_errors, random_delay_variances, stationary_variances
from benchmarks.papers.finding import Finding
from benchmarks.papers.gaussian import (
    BATCH,
    ROWS,
    away_and_square,
    data,
    error_of_square,
    random_start,
)
from benchmarks.papers.gaussian import setting as setting_of_model
from benchmarks.papers.picture import label, legend, line, panels, points
from benchmarks.papers.simulate import Dial, Runner
from benchmarks.papers.subsets import Subset
from numpyro_sgmcmc import SGLD, StaleGradient, UniformDelay
from tests.oracles import linear, stale

TITLE = "Staleness and servers"
MEASURED = ("measured",)
DELAYS = (0, 1, 2, 5, 10, 20)
LARGEST = max(DELAYS)
PULL = 0.3
"""lambda h tau at the largest staleness."""
LENGTH, BURN_IN, CHAINS = 1_000, 600, 16_000
SERVERS = (1, 4, 16)
DELAY_OF_SERVERS, LENGTH_OF_SERVERS, GROUPS = 5, 500, 1_600
WHAT = {"mean": "θ", "square": "θ²"}


def step_size() -> float:
    """Return h."""
    return PULL / LARGEST * setting_of_model().variance


def _run(ages: Any, chains: int, burn_in: int, length: int, start: np.ndarray | None) -> np.ndarray:
    """Return each chain's averages of theta - mean and its square, (chains, 2)."""
    model = partial(linear.model, scale=jnp.ones(1), subsample_size=BATCH)
    args = (jnp.ones((ROWS, 1, 1)), jnp.asarray(data()[:, None], jnp.float32))

    def make(dial: Dial) -> StaleGradient:
        return StaleGradient(SGLD(model, dial, minibatch=Subset(low=25)), ages)

    if start is None:
        start = np.full((chains, 1), setting_of_model().mean)
    run = {"start": start, "burn_in": burn_in, "blocks": 1, "length": length}
    return Runner(make, args, away_and_square)([step_size()], **run).mean()[0]


def measure(quick: bool = False) -> list[Row]:
    """Return variances and biases by staleness, and errors by number of servers."""
    chains = 800 if quick else CHAINS
    delays = (0, LARGEST) if quick else DELAYS
    rows = []
    for delay in delays:
        rows += _rows("fixed", delay, _run(delay, chains, BURN_IN, LENGTH, None))
    if not quick:
        ages = UniformDelay(LARGEST)
        rows += _rows("uniform", LARGEST / 2, _run(ages, chains, BURN_IN, LENGTH, None))
    return rows + _servers(100 if quick else GROUPS)


def _rows(ages: str, age: float, values: np.ndarray) -> list[Row]:
    """Return the variance of averages of theta and theta^2, and the bias of theta's variance."""
    post, h = setting_of_model(), step_size()
    averages = {"mean": values[:, 0], "square": error_of_square(values)}
    variance, error = mean_and_error(values[:, 1])
    if ages == "fixed":
        law = stationary_variances(int(age), h, BATCH, LENGTH)
    else:
        law = (*random_delay_variances(stale.uniform(LARGEST), h, BATCH, LENGTH), np.nan)
    exact = {"bias": law[0] - post.variance, "mean": law[1], "square": law[2]}
    measured = {"bias": (variance - post.variance, error)}
    measured |= {name: mean_and_error((x - x.mean()) ** 2) for name, x in averages.items()}
    scale = {"bias": post.variance, "mean": post.variance, "square": 1.0}
    return [
        _row(
            name, ages, age, 1, value / scale[name], error / scale[name], exact[name] / scale[name]
        )
        for name, (value, error) in measured.items()
        if np.isfinite(exact[name])
    ]


def _servers(groups: int) -> list[Row]:
    """Return bias, variance and MSE of averages over S chains, each S with chains of its own."""
    start = random_start(groups * sum(SERVERS))
    errors = error_of_square(_run(DELAY_OF_SERVERS, len(start), 0, LENGTH_OF_SERVERS, start))
    law = exact_errors(DELAY_OF_SERVERS, step_size(), BATCH, LENGTH_OF_SERVERS)
    bias, mse = (float(each[-1]) for each in law)
    rows, first = [], 0
    for count in SERVERS:
        mine = errors[first : first + groups * count].reshape(groups, count).mean(1)
        first += groups * count
        spread = (mse - bias**2) / count
        found = {
            "servers' bias": (mine, bias),
            "servers' variance": ((mine - mine.mean()) ** 2 * groups / (groups - 1), spread),
            "servers' MSE": (mine**2, bias**2 + spread),
        }
        for name, (values, exact) in found.items():
            measured, error = mean_and_error(values)
            rows.append(_row(name, "fixed", DELAY_OF_SERVERS, count, measured, error, exact))
    return rows


def _row(what: str, ages: str, age: float, servers: int, *numbers: Any) -> Row:
    measured, error, exact = (float(x) for x in numbers)
    row = {"what": what, "ages": ages, "age": float(age), "servers": servers}
    return row | {"measured": measured, "error": error, "exact": exact}


def findings(rows: list[Row]) -> list[Finding]:
    """Compare staleness with fresh gradients, and servers with one."""
    found = []
    for name, text in WHAT.items():
        old, fresh = (
            select(rows, what=name, ages="fixed", age=age)[0] for age in (float(LARGEST), 0.0)
        )
        claim = f"variance of an average of {text} is independent of the staleness (theorem 4)"
        found.append(_ratio(f"{claim}: within 10 %, τ = {LARGEST} against 0", old, fresh))
    found.append(_linear(rows))
    if select(rows, ages="uniform"):
        found += [_random(rows, name) for name in ("mean", "bias")]
    few, many = (
        {row["what"]: row for row in select(rows, servers=s) if row["what"].startswith("servers'")}
        for s in (SERVERS[0], SERVERS[-1])
    )
    name = "servers' bias"
    claim = f"{SERVERS[-1]} servers have the bias of one (theorem 6): within 20 %"
    found.append(_ratio(claim, many[name], few[name], low=0.8, high=1.2))
    for name in ("servers' variance", "servers' MSE"):
        found.append(_falls(name, many[name], few[name]))
    return found


def _ratio(claim: str, row: Row, other: Row, low: float = 0.9, high: float = 1.1) -> Finding:
    measured, error = ratio(row["measured"], row["error"], other["measured"], other["error"])
    return Finding(
        claim,
        f"{measured:.3f} ± {error:.3f} times",
        f"{row['exact'] / other['exact']:.3f} times",
        inside(measured, error, low, high),
        worst_score([row, other]),
    )


def _linear(rows: list[Row]) -> Finding:
    """Judge the order in tau of what staleness adds to the bias."""
    mine = select(rows, what="bias", ages="fixed")
    fresh, old = mine[0], mine[1:]
    age = column(old, "age")
    added, exact = (column(old, name) - fresh[name] for name in ("measured", "exact"))
    error = np.hypot(column(old, "error"), fresh["error"])
    claim = "bias grows in proportion to the staleness (theorem 2)"
    if len(old) < 2:
        return _ratio("stale gradients have the bias of fresh ones: within 10 %", old[0], fresh)
    measured, spread = slope(age, added, error)
    # The differences share the bias of fresh gradients: at most as if it moved all of them.
    spread += abs(slope(age, added + fresh["error"], error)[0] - measured)
    there, _ = slope(age, exact, error)
    return Finding(
        claim,
        f"bias(τ) - bias(0) as τ^{measured:.2f} ± {spread:.2f}, τ = {age[0]:.0f} to {age[-1]:.0f}",
        f"τ^{there:.2f}",
        order(1, measured, spread),
        worst_score(mine),
    )


def _random(rows: list[Row], name: str) -> Finding:
    row = select(rows, what=name, ages="uniform")[0]
    other = select(rows, what=name, ages="fixed", age=row["age"])[0]
    what = {"mean": "variance of an average of θ", "bias": "bias"}[name]
    return _ratio(
        f"{what} with ages drawn from 0, ..., {LARGEST} is that of their mean {row['age']:.0f}:"
        " within 10 %",
        row,
        other,
    )


def _falls(name: str, row: Row, other: Row) -> Finding:
    measured, error = ratio(row["measured"], row["error"], other["measured"], other["error"])
    count = SERVERS[-1]
    what = name.removeprefix("servers' ")
    bound = 1.0 if what == "MSE" else 1.5 / count
    claim = "falls with servers (theorem 6)" if what == "MSE" else "falls as 1 / S (theorem 7)"
    text = "S = 16 below S = 1" if what == "MSE" else f"S = {count} at most 1.5 / {count} of S = 1"
    return Finding(
        f"{what} {claim}: {text}",
        f"{measured:.3f} ± {error:.3f} times",
        f"{row['exact'] / other['exact']:.3f} times",
        below(measured, error, bound),
        worst_score([row, other]),
    )


def setting(rows: list[Row]) -> list[str]:
    """Return what was run."""
    return [
        f"Ours: SGLD with exactly τ transitions old gradients, B = {BATCH} of {ROWS:,} rows without"
        f" replacement, h with λ h τ = {PULL:g} at τ = {LARGEST}; {CHAINS:,} chains, averages over"
        f" L = {LENGTH:,} after {BURN_IN:,} transitions discarded, which makes starts stationary."
        f" Servers: {GROUPS} groups for each S = {', '.join(str(s) for s in SERVERS)}, τ ="
        f" {DELAY_OF_SERVERS}, L = {LENGTH_OF_SERVERS} from the prior, nothing discarded. The paper"
        " states bounds and no numbers for these claims.",
    ]


def remarks(rows: list[Row]) -> list[str]:
    """Return what else the numbers show."""
    law = _law(3)
    times = law[:, 1:] / law[0, 1:]
    pull = 3 * PULL
    return [
        f"Of the average of θ² the variance does depend on τ: {times[1, 1]:.2f} times that of fresh"
        f" gradients at λ h τ = {PULL:g}, {times[3, 1]:.2f} times at λ h τ = {pull:g}, where that"
        f" of θ is still {times[3, 0]:.2f} times. A bound with a constant, as theorem 4 states it,"
        " allows this: the variance of θ² contains the square of the variance of θ, whose bias is"
        " what staleness changes.",
    ]


@cache
def _law(most: int) -> np.ndarray:
    """Return exact variances at 0, 1, ..., `most` times the largest staleness."""
    ages = [k * LARGEST for k in range(most + 1)]
    return np.array([stationary_variances(age, step_size(), BATCH, LENGTH) for age in ages])


def draw(rows: list[Row]) -> Any:
    """Draw the variances and the bias against the staleness, and the errors against servers."""
    figure, axes = panels(3, 3.6)
    ages = np.arange(LARGEST + 1)
    post = setting_of_model()
    law = np.array([stationary_variances(int(t), step_size(), BATCH, LENGTH) for t in ages])
    for axis in axes[:2]:
        axis.set_xscale("linear")
        axis.set_yscale("linear")
    for number, (name, text) in enumerate(WHAT.items()):
        mine = select(rows, what=name, ages="fixed")
        base = mine[0]["exact"]
        size, error = column(mine, "measured") / base, column(mine, "error") / base
        points(axes[0], column(mine, "age"), size, error, number, f"variance, average of {text}")
        line(axes[0], ages, law[:, 1 + number] / law[0, 1 + number], number)
    axes[0].set_ylim(0.8, 1.2)
    mine = select(rows, what="bias", ages="fixed")
    points(axes[1], column(mine, "age"), column(mine, "measured"), column(mine, "error"), 2, "")
    line(axes[1], ages, law[:, 0] / post.variance - 1, 2)
    uniform = select(rows, what="bias", ages="uniform")
    points(axes[1], column(uniform, "age"), column(uniform, "measured"), None, 3, "")
    axes[0].plot([], [], "^", color="#009e73", mfc="none", label="bias, age τ")
    axes[0].plot([], [], "D", color="#cc79a7", mfc="none", label="bias, uniform ages of mean τ")
    for number, name in enumerate(("bias", "variance", "MSE"), start=4):
        mine = select(rows, what=f"servers' {name}")
        x, error = column(mine, "servers"), column(mine, "error")
        points(axes[2], x, np.abs(column(mine, "measured")), error, number, "")
        line(axes[2], x, np.abs(column(mine, "exact")), number)
        handle = axes[2].lines[-1]
        axes[0].plot([], [], color=handle.get_color(), label=f"servers' {name}")
    axes[2].set_xticks(SERVERS, [str(s) for s in SERVERS])
    axes[2].minorticks_off()
    label(axes[0], "variance of averages", "staleness τ", "relative to fresh gradients")
    label(axes[1], "bias of the variance", "staleness τ", "posterior variances")
    label(axes[2], r"S servers, error of $\theta^2$", "servers S", "absolute value")
    legend(figure, axes[0], 3, "exact")
    return figure


if __name__ == "__main__":
    main(sys.modules[__name__])
