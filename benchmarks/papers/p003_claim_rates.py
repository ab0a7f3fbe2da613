"""Durmus et al. (2016), supplement: SGRRLD with step sizes gamma_k = gamma_1 k^-alpha.

The claim: the bias is least at alpha = 1/3, the mean squared error at 0.2. The paper's gamma_1 is
not in our copy. Ours is 1/8, 1/2 and 1 in units of 1 / lambda, the posterior's variance. Errors are
exact (`extrapolated_moments`) up to K = 10^6, and our kernel is run for small K.
"""

import sys
from functools import cache
from typing import Any

import jax.numpy as jnp
import numpy as np

from benchmarks.papers.command import main
from benchmarks.papers.common import Row, column, mean_and_error, select, worst_score
from benchmarks.papers.criteria import decided, least, tied
from benchmarks.papers.extrapolated_moments import averages, start_moments
from benchmarks.papers.finding import Finding
from benchmarks.papers.picture import label, legend, line, panels, points
from benchmarks.papers.regression import BATCH, posterior, random_start, runner

TITLE = "Rates of decreasing step sizes"
MEASURED = ("bias", "mse")
NAMES = {"bias": "bias", "mse": "MSE"}
POWER = {"bias": 1, "mse": 2}
BEST = {"bias": 1 / 3, "mse": 0.2}
RATES = (0.1, 0.15, 0.2, 0.25, 0.3, 1 / 3, 0.4, 0.45, 0.5, 0.6)
SHOWN = (0.1, 0.2, 1 / 3, 0.5)
FIRST = (0.125, 0.5, 1.0)
STARTS = ("mean", "N(0, 1)")
WANTED = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
LENGTHS = (100, 300, 1_000)
CHAINS = 400
FAR = (9, 12, 18)


def measure(quick: bool = False) -> list[Row]:
    """Return exact errors for each start, gamma_1, alpha and K, and measured ones for some."""
    lengths = LENGTHS[:2] if quick else LENGTHS
    wanted = lengths if quick else WANTED
    rates = SHOWN if quick else RATES
    cells = [(s, g, a) for s in STARTS for g in FIRST for a in rates]
    starts = np.array([_start(s) for s, _, _ in cells])
    first, alpha = (np.array([cell[i] for cell in cells]) for i in (1, 2))
    found = averages(lambda k: jnp.asarray(first) * k ** -jnp.asarray(alpha), wanted, starts)
    runs = {length: _runs(length) for length in lengths}
    rows = []
    for i, (start, gamma, rate) in enumerate(cells):
        for k, count in enumerate(wanted):
            row = {"start": start, "gamma": gamma, "alpha": round(rate, 4), "K": count}
            ran = start == "N(0, 1)" and gamma == FIRST[1] and rate in SHOWN and count in runs
            measured = runs[count][SHOWN.index(rate)] if ran else {}
            for name in NAMES:
                exact = getattr(found, name)[k, i]
                row |= {
                    name: measured.get(name, np.nan),
                    f"{name}_error": measured.get(f"{name}_error", np.nan),
                    f"{name}_exact": float(exact),
                }
            rows.append(row)
    return rows


def _start(name: str) -> np.ndarray:
    if name == "mean":
        return start_moments(float(posterior(1).mean[0]), 0.0)
    return start_moments(0.0, 1.0)


def _runs(length: int) -> list[Row]:
    """Return bias and MSE of our kernel for each rate, in units of the posterior's variance."""
    precision = float(posterior(1).hessian[0, 0])
    out = runner("SGRRLD", 1)(
        [FIRST[1] / precision] * len(SHOWN),
        start=random_start("SGRRHMC", 1, CHAINS),
        burn_in=0,
        blocks=1,
        length=length,
        exponents=SHOWN,
        seed=length,
    )
    rows = []
    for errors in precision * out.mean()[..., 0] - 1:
        (bias, bias_error), (mse, mse_error) = mean_and_error(errors), mean_and_error(errors**2)
        row = {"bias": bias, "bias_error": bias_error, "mse": mse, "mse_error": mse_error}
        rows.append({key: float(value) for key, value in row.items()})
    return rows


def _measured(rows: list[Row]) -> list[Row]:
    return [row for row in rows if np.isfinite(row["bias"])]


@cache
def _order() -> float:
    """Return the exact order in h of the stationary bias of extrapolated draws."""
    post = posterior(1)
    sizes = [(post.stationary("SGRRLD", h) - post.covariance)[0, 0] for h in (1e-6, 1e-5)]
    return float(np.log10(sizes[1] / sizes[0]))


def exponent(name: str, alpha: float) -> float:
    """Return the exact power of K as K -> infinity; a logarithm at ties does not count.

    The start adds 1 / (K h), and the variance of averages does to the MSE; the stationary bias adds
    the average of h^2.
    """
    return max(-POWER[name] * round(_order()) * alpha, alpha - 1)


DIRECT = 10**6
"""Sums of powers are plain up to here, and by Euler and Maclaurin beyond."""


@cache
def _direct(alpha: float, count: int) -> float:
    return float(np.sum(np.arange(1, count + 1) ** -alpha))


def sum_of_powers(alpha: float, count: float) -> float:
    """Return 1 + 2^-alpha + ... + count^-alpha."""
    if count <= DIRECT:
        return _direct(alpha, int(count))

    def smooth(n: float) -> float:
        whole = np.log(n) if np.isclose(alpha, 1) else n ** (1 - alpha) / (1 - alpha)
        return whole + n**-alpha / 2

    return _direct(alpha, DIRECT) + smooth(count) - smooth(DIRECT)


@cache
def _stationary_bias() -> float:
    """Return b of the stationary bias b t^2 in units of the posterior's variance, t = h lambda."""
    post, t = posterior(1), 1e-2
    precision = float(post.hessian[0, 0])
    bias = post.stationary("SGRRLD", t / precision) - post.covariance
    return float(bias[0, 0]) * precision / t**2


def far(row: Row, count: float) -> dict[str, float]:
    """Return bias and MSE at K beyond the exact recursion, from a row at large K.

    bias = (a + b sum gamma^3) / sum gamma with b from the stationary bias and a from the row, and
    the variance falls as 1 / sum gamma.
    """
    gamma, b = row["gamma"], _stationary_bias()
    alpha = min(RATES, key=lambda rate: abs(rate - row["alpha"]))
    ends = row["K"], count
    time = [gamma * sum_of_powers(alpha, k) for k in ends]
    cubes = [gamma**3 * sum_of_powers(3 * alpha, k) for k in ends]
    a = row["bias_exact"] * time[0] - b * cubes[0]
    bias = (a + b * cubes[1]) / time[1]
    variance = (row["mse_exact"] - row["bias_exact"] ** 2) * time[0] / time[1]
    return {"bias": bias, "mse": bias**2 + variance}


def findings(rows: list[Row]) -> list[Finding]:
    """Compare best exponents at finite K and in the limit."""
    longest = max(row["K"] for row in rows)
    ran = _measured(rows)
    found = []
    for name in NAMES:
        levels = worst_score(ran, name, f"{name}_exact", f"{name}_error")
        found.append(_level(ran, name, levels))
        found += [_best(rows, name, s, g, longest) for s in STARTS for g in FIRST]
        found.append(_limit(name))
    return [*found, _rate(rows)]


def _level(ran: list[Row], name: str, score: float) -> Finding:
    count = max(row["K"] for row in ran)
    mine = select(ran, K=count)
    values, alpha, best = np.abs(column(mine, name)), column(mine, "alpha"), BEST[name]
    ties = tied(values, column(mine, f"{name}_error"))
    truth = alpha[np.argmin(np.abs(column(mine, f"{name}_exact")))]
    return Finding(
        f"{NAMES[name]} is least at α = {best:.2f} of those run, γ₁ λ = {FIRST[1]:g}, from N(0, 1)",
        f"{' or '.join(f'{a:.2f}' for a in alpha[ties])} at K = {count:,}",
        f"{truth:.2f} there",
        least(ties, np.isclose(alpha, best, atol=1e-3)),
        score,
    )


def _best(rows: list[Row], name: str, start: str, gamma: float, count: int) -> Finding:
    mine = select(rows, start=start, gamma=gamma, K=count)
    sizes = np.abs(column(mine, f"{name}_exact"))
    alpha = mine[int(np.argmin(sizes))]["alpha"]
    here = select(mine, alpha=round(BEST[name], 4))[0]
    times = abs(here[f"{name}_exact"]) / sizes.min()
    return Finding(
        f"{NAMES[name]} is least at α = {BEST[name]:.2f}, γ₁ λ = {gamma:g}, from {_words(start)}",
        "",
        f"{alpha:.2f} at K = {count:,}; {times:.3g} times the least at {BEST[name]:.2f}",
        decided(alpha == here["alpha"], alpha != here["alpha"]),
        None,
    )


def _limit(name: str) -> Finding:
    powers = np.array([exponent(name, alpha) for alpha in RATES])
    best = RATES[int(np.argmin(powers))]
    return Finding(
        f"{NAMES[name]} is least at α = {BEST[name]:.2f} as K → infinity, any γ₁",
        "",
        f"{best:.2f} of those compared: K^{powers.min():.2f}",
        decided(best == BEST[name], best != BEST[name]),
        None,
    )


def _rate(rows: list[Row]) -> Finding:
    """Judge the rate of the bias from the mean, where start and step size do not cancel."""
    mine = select(rows, start="mean", gamma=FIRST[1], alpha=round(1 / 3, 4))
    early, late = mine[-3:][0], mine[-1]
    fall = np.log(late["bias_exact"] / early["bias_exact"]) / np.log(late["K"] / early["K"])
    return Finding(
        f"bias at α = 0.33 falls as K^-0.67, within a tenth, γ₁ λ = {FIRST[1]:g}, from the mean",
        "",
        f"K^{fall:.2f} from K = {early['K']:,} to {late['K']:,}",
        decided(abs(fall + 2 / 3) < 0.1, abs(fall + 2 / 3) >= 0.1),
        None,
    )


def _words(start: str) -> str:
    return "the posterior's mean" if start == "mean" else start


def setting(rows: list[Row]) -> list[str]:
    """Return what was run."""
    longest = max(row["K"] for row in rows)
    runs = sorted({row["K"] for row in _measured(rows)})
    return [
        "Step sizes γ_k = γ₁ k^-α in the model above, d = 1, averages weighted by step size"
        f" (equation 6 of the paper), nothing discarded. Ours: γ₁ λ ="
        f" {', '.join(f'{g:g}' for g in FIRST)}"
        " with 1 / λ the posterior's variance; the paper's γ₁ is not in our copy. Starts at the"
        f" posterior's mean and from N(0, 1); α = {', '.join(f'{a:.2f}' for a in RATES)}; bias and"
        f" MSE of the variance, exact up to K = {longest:,} from moments of order four, with"
        f" minibatches of {BATCH} rows drawn without replacement. Measured: {CHAINS} runs of SGRRLD"
        f" with K = {', '.join(f'{k:,}' for k in runs)}, γ₁ λ = {FIRST[1]:g}.",
    ]


def remarks(rows: list[Row]) -> list[str]:
    """Return what else the numbers show."""
    longest = max(row["K"] for row in rows)
    text = []
    for name in NAMES:
        for start in STARTS:
            parts = []
            for gamma in FIRST:
                mine = select(rows, start=start, gamma=gamma, K=longest)
                best = [
                    mine[int(np.argmin([abs(far(row, 10.0**p)[name]) for row in mine]))]["alpha"]
                    for p in FAR
                ]
                parts.append(f"{', '.join(f'{b:.2f}' for b in best)} (γ₁ λ = {gamma:g})")
            powers = ", ".join(f"10^{p}" for p in FAR)
            text.append(
                f"Best α for the {NAMES[name]} from {_words(start)} at K = {powers}, by this"
                f" formula: {'; '.join(parts)}."
            )
    changes = _changes_of_sign(rows, longest)
    return [
        "The bias is (a + b Σ γ³) / Σ γ, where a is the start's and b < 0 the method's; beyond the"
        " recursion's K we use it with a fitted there. From N(0, 1) a > 0, so that the bias changes"
        " sign and its least absolute value at a finite K says where that happens, not which rate"
        f" is best: it is negative at K = {longest:,} for {changes}.",
        *text,
    ]


def _changes_of_sign(rows: list[Row], count: int) -> str:
    parts = []
    for gamma in FIRST:
        mine = select(rows, start="N(0, 1)", gamma=gamma, K=count)
        below = [row["alpha"] for row in mine if row["bias_exact"] < 0]
        parts.append((f"α ≤ {max(below):.2f}" if below else "no α") + f" (γ₁ λ = {gamma:g})")
    return ", ".join(parts)


def draw(rows: list[Row]) -> Any:
    """Draw bias and MSE against K, for two starts."""
    figure, axes = panels(4, 6.2, rows=2)
    cells = [(name, start) for name in NAMES for start in STARTS]
    for axis, (name, start) in zip(axes, cells, strict=True):
        for number, alpha in enumerate(SHOWN):
            mine = select(rows, start=start, gamma=FIRST[1], alpha=round(alpha, 4))
            line(axis, column(mine, "K"), np.abs(column(mine, f"{name}_exact")), number)
            ran = _measured(select(rows, start="N(0, 1)", alpha=round(alpha, 4)))
            if start == "N(0, 1)":
                size, error = np.abs(column(ran, name)), column(ran, f"{name}_error")
                points(axis, column(ran, "K"), size, error, number, f"α = {alpha:.2f}")
        what = {"bias": "|bias|, posterior variances", "mse": "MSE, squared variances"}[name]
        label(axis, f"from {_words(start)}", "transitions K", what)
    legend(figure, axes[1], 5, "exact")
    return figure


if __name__ == "__main__":
    main(sys.modules[__name__])
