"""Durmus et al. (2016), theorem 1: the law of SGRRLD's average in three regimes of step sizes.

U = y^2 / 2, f = y^2 and step sizes h_k = h_1 k^-alpha. Gamma and Gamma3 are the sums of h_k and of
h_k^3. All cumulants are exact (`extrapolated_law`), and our kernel is run for small K.
"""

import sys
from typing import Any

import jax
import numpy as np
import numpyro
import numpyro.distributions as dist

from benchmarks.papers.command import main
from benchmarks.papers.common import Row, column, mean_and_error, select
from benchmarks.papers.extrapolated_law import LIMIT_BIAS, law, limit_variance
from benchmarks.papers.p003_clt_findings import REGIMES, SIGMA, findings
from benchmarks.papers.picture import label, legend, line, panels, points
from benchmarks.papers.simulate import Runner
from numpyro_sgmcmc import SGRRLD

__all__ = ["MEASURED", "TITLE", "draw", "findings", "measure", "remarks", "setting"]

TITLE = "Theorem 1: the law of the average in three regimes of step sizes"
MEASURED = ("bias", "variance", "skewness")
RATES = (1 / 3, 0.2, 0.1)
CORRELATIONS = (0.0, 0.5, 0.9, 1.0)
LENGTHS = (300, 1_000, 3_000)
FURTHER = (10_000, 30_000, 100_000, 300_000, 1_000_000)
FIRST, CHAINS = 1.0, 8_000


def model() -> None:
    """The target N(0, 1)."""
    numpyro.sample("theta", dist.Normal(0.0, 1.0).expand([1]).to_event(1))


def measure(quick: bool = False) -> list[Row]:
    """Return exact laws for each rate, correlation and length, and measured ones of our kernel."""
    lengths = LENGTHS[:2] if quick else LENGTHS
    runner = Runner(lambda dial: SGRRLD(model, dial), (), _excess, scale=0.1)
    start = np.random.default_rng(0).normal(size=(CHAINS, 1))
    rows = []
    for number, length in enumerate(lengths):
        out = runner(
            [FIRST] * len(RATES),
            start=start,
            burn_in=0,
            blocks=1,
            length=length,
            exponents=RATES,
            seed=number,
        )
        rows += _rows(length, [moments(errors) for errors in out.mean()[..., 0]])
    nothing = [dict.fromkeys(moments(np.arange(3.0)), np.nan)] * len(RATES)
    further = () if quick else FURTHER
    return rows + [row for length in further for row in _rows(length, nothing)]


def _excess(state: Any) -> jax.Array:
    """Return the extrapolated estimate of y^2, less its mean."""
    fine, half, coarse = (z["theta"] ** 2 for z in (state.z, state.z_halfway, state.z_coarse))
    return fine + half - coarse - 1.0


def moments(errors: np.ndarray) -> dict[str, float]:
    """Return mean, variance and skewness over chains, with standard errors to first order."""
    mean, deviation = errors.mean(), errors.std(ddof=1)
    z = (errors - mean) / deviation
    skewness = float(np.mean(z**3))
    effects = {
        "bias": deviation * z + mean,
        "variance": deviation**2 * z**2,
        "skewness": z**3 - 3 * z - 1.5 * skewness * (z**2 - 1),
    }
    found = {}
    for name, effect in effects.items():
        value, error = mean_and_error(effect)
        found |= {name: float(value), f"{name}_error": float(error)}
    return found


def _rows(length: int, ran: list[dict[str, float]]) -> list[Row]:
    """Return the rows of a length; what ran had the correlation 1."""
    cells = [(rate, r) for rate in RATES for r in CORRELATIONS]
    rate, r = np.array(cells).T
    found = law(FIRST, rate, length, r)
    rows = []
    for place, (alpha, correlation) in enumerate(cells):
        mine = ran[RATES.index(alpha)]
        row = {
            "alpha": round(alpha, 4),
            "correlation": correlation,
            "K": length,
            **(mine if correlation == 1 else dict.fromkeys(mine, np.nan)),
        }
        row |= {f"{name}_exact": float(getattr(found, name)[place]) for name in MEASURED}
        rows.append(row | {n: float(getattr(found, n)[place]) for n in ("time", "cubes")})
    return rows


def setting(rows: list[Row]) -> list[str]:
    """Return what was run."""
    lengths = [row["K"] for row in _ran(rows) if row["alpha"] == min(REGIMES)]
    furthest = max(row["K"] for row in rows)
    return [
        f"U = y² / 2, f = y² and exact gradients, step sizes γ_k = γ_1 k^-α with γ_1 = {FIRST:g},"
        " both walkers from one draw of the target; averages weighted by step size (equation 6 of"
        " the paper). The theorem is stated for any U; here all cumulants of the average are exact,"
        " as it is a quadratic form of Gaussian variables: σ² = 2 (5 - 4 r²) and"
        f" μ = {LIMIT_BIAS:g}, where r is the correlation of the walkers' increments. Ours share"
        " them, r = 1. Measured:"
        f" {CHAINS:,} runs of SGRRLD with K = {', '.join(f'{k:,}' for k in lengths)}; exact up to"
        f" K = {furthest:,}.",
    ]


def _ran(rows: list[Row]) -> list[Row]:
    return [row for row in rows if np.isfinite(row["bias"])]


def remarks(rows: list[Row]) -> list[str]:
    """Return what else the numbers show."""
    furthest = max(row["K"] for row in rows)
    own = {REGIMES[row["alpha"]]: row for row in select(rows, correlation=1.0, K=furthest)}
    means = ", ".join(
        f"{row['bias_exact'] * row['time'] / (LIMIT_BIAS * row['cubes']):.2f} (regime {name})"
        for name, row in own.items()
        if name != "a"
    )
    return [
        "The limits of the means are slow: what is left of them falls as the last step size does."
        f" At K = {furthest:,} they are {means} times their limits.",
    ]


def draw(rows: list[Row]) -> Any:
    """Draw the mean in each regime and the variance for each correlation against K."""
    figure, axes = panels(2)
    for number, (alpha, name) in enumerate(REGIMES.items()):
        mine = select(rows, alpha=alpha, correlation=1.0)
        line(axes[0], column(mine, "K"), _scaled(mine, "bias_exact", 0.5), number)
        kappa = column(mine, "cubes") / column(mine, "time") ** 0.5
        limit = abs(LIMIT_BIAS) * kappa / SIGMA
        line(axes[0], column(mine, "K"), limit, number, ls=":")
        ran = _ran(mine)
        values = (_scaled(ran, each, 0.5) for each in ("bias", "bias_error"))
        points(axes[0], column(ran, "K"), *values, number, f"{name}, α = {alpha:.2f}")
    for number, correlation in enumerate(CORRELATIONS):
        mine = select(rows, alpha=max(REGIMES), correlation=correlation)
        exact = _scaled(mine, "variance_exact", 1.0)
        line(axes[1], column(mine, "K"), exact, number, label=f"r = {correlation:g}")
        axes[1].axhline(limit_variance(correlation), color="0.3", lw=1, ls=":", zorder=1)
    ran = _ran(select(rows, alpha=max(REGIMES)))
    values = (_scaled(ran, each, 1.0) for each in ("variance", "variance_error"))
    points(axes[1], column(ran, "K"), *values, len(CORRELATIONS) - 1, "measured, r = 1")
    label(axes[0], "|mean| of √Γ (estimate - truth)", "transitions K", "σ")
    label(axes[1], "Γ variance, α = 1/3", "transitions K", "")
    axes[1].set_yscale("linear")
    legend(figure, axes[0], 4, "exact; dotted: the theorem's limit")
    axes[1].legend(frameon=False, fontsize=8.5, ncols=2, loc="center", bbox_to_anchor=(0.5, 0.42))
    return figure


def _scaled(rows: list[Row], name: str, power: float) -> np.ndarray:
    """Return Gamma^power times the sizes in a column, a mean in units of sigma."""
    unit = SIGMA if power < 1 else 1.0
    return column(rows, "time") ** power * np.abs(column(rows, name)) / unit


if __name__ == "__main__":
    main(sys.modules[__name__])
