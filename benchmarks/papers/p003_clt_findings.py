"""What theorem 1 of Durmus et al. (2016) claims, and what became of it."""

import numpy as np

from benchmarks.papers.common import Row, select
from benchmarks.papers.criteria import below, decided, inside
from benchmarks.papers.extrapolated_law import LIMIT_BIAS, limit_variance
from benchmarks.papers.finding import Finding

REGIMES = {0.3333: "a", 0.2: "b", 0.1: "c"}
SIGMA = limit_variance(1.0) ** 0.5
NEAR = 0.1
"""Share by which a variance may differ from its limit."""
SMALL = 0.25
"""What counts as nearly zero: a mean in units of sigma, and a skewness by twice as much."""
FACTOR = 2.0
"""Within which a mean at finite K is to be its limit's."""
POWER = 0.05
"""Distance of an exact power of K from its theory."""


def findings(rows: list[Row]) -> list[Finding]:
    """Judge variance, mean and shape at finite K by what was measured, limits by exact laws."""
    own = select(rows, correlation=1.0)
    ran = [row for row in own if np.isfinite(row["bias"])]
    most, furthest = (max(row["K"] for row in some) for some in (ran, own))
    score = float(np.max([_score(row, n) for row in ran for n in ("bias", "variance", "skewness")]))
    at = {(REGIMES[row["alpha"]], row["K"]): row for row in own}
    a, b, c = (at[name, most] for name in REGIMES.values())
    earlier = max(row["K"] for row in own if row["K"] <= furthest / 3)
    pairs = {name: (at[name, earlier], at[name, furthest]) for name in REGIMES.values()}
    return [
        _least(select(rows, K=most, alpha=0.3333), score),
        _variance(a, score),
        _no_mean(a, score),
        _shape(a, score),
        _limits_of_a(*pairs["a"]),
        _mean(b, "b, α = 1/5: √Γ (estimate - truth) has the mean κ μ, κ = Γ3 / √Γ", score),
        _variance(b, score),
        _limits_of_b(*pairs["b"]),
        _mean(c, "c, α = 0.1: (Γ / Γ3) (estimate - truth) has the mean μ", score),
        _limits_of_c(*pairs["c"]),
    ]


def _score(row: Row, name: str) -> float:
    return abs(row[name] - row[f"{name}_exact"]) / row[f"{name}_error"]


def _least(rows: list[Row], score: float) -> Finding:
    scaled = {row["correlation"]: row["time"] * row["variance_exact"] for row in rows}
    own = next(row for row in rows if row["correlation"] == 1.0)
    value, error = (own["time"] * own[name] for name in ("variance", "variance_error"))
    listed = ", ".join(f"{value:.2f} (r = {r:g})" for r, value in scaled.items())
    limits = ", ".join(f"{limit_variance(r):.2f}" for r in scaled)
    return Finding(
        "regime a, α = 1/3: the variance is least where both walkers share their increments, r = 1"
        f" of {', '.join(f'{r:g}' for r in scaled)}",
        f"Γ variance = {value:.2f} ± {error:.2f} with r = 1, K = {own['K']:,}",
        f"{listed} there; limits {limits}",
        below(value, error, min(value for r, value in scaled.items() if r < 1)),
        score,
    )


def _variance(row: Row, score: float) -> Finding:
    regime = REGIMES[row["alpha"]]
    value, error = (row["time"] * row[name] / SIGMA**2 for name in ("variance", "variance_error"))
    exact = row["time"] * row["variance_exact"] / SIGMA**2
    return Finding(
        f"regime {regime}: √Γ (estimate - truth) has the variance σ², within {100 * NEAR:.0f} %",
        f"{value:.3f} ± {error:.3f} σ² at K = {row['K']:,}",
        f"{exact:.3f} σ² there, 1 σ² as K → infinity",
        inside(value, error, 1 - NEAR, 1 + NEAR),
        score,
    )


def _scaled_mean(row: Row, name: str) -> float:
    """Return a mean, or its error, of sqrt(Gamma) (estimate - truth) in units of sigma."""
    return row["time"] ** 0.5 * row[name] / SIGMA


def _no_mean(row: Row, score: float) -> Finding:
    value, error = (_scaled_mean(row, name) for name in ("bias", "bias_error"))
    return Finding(
        f"regime a: its mean is zero, within {SMALL:g} σ",
        f"{value:.3f} ± {error:.3f} σ at K = {row['K']:,}",
        f"{_scaled_mean(row, 'bias_exact'):.3f} σ there, 0 as K → infinity",
        inside(value, error, -SMALL, SMALL),
        score,
    )


def _shape(row: Row, score: float) -> Finding:
    value, error = row["skewness"], row["skewness_error"]
    return Finding(
        f"regime a: it is Gaussian: its skewness is zero, within {2 * SMALL:g}",
        f"{value:.3f} ± {error:.3f} at K = {row['K']:,}",
        f"{row['skewness_exact']:.3f} there, 0 as K → infinity",
        inside(value, error, -2 * SMALL, 2 * SMALL),
        score,
    )


def _power(early: float, late: float, pair: tuple[Row, Row]) -> float:
    return float(np.log(late / early) / np.log(pair[1]["K"] / pair[0]["K"]))


def _limits(
    claim: str, found: dict[str, tuple[float, float, float]], pair: tuple[Row, Row]
) -> Finding:
    """Judge limits by the powers of K with which exact distances from them fall, and theory's.

    Args:
        claim: of the theorem.
        found: distances at both numbers of transitions and the power of theory, by their names.
        pair: the rows of both.
    """
    powers = {
        name: (_power(*distances, pair), power) for name, (*distances, power) in found.items()
    }
    near = [abs(mine - power) < POWER for mine, power in powers.values()]
    listed = "; ".join(
        f"{name} K^{mine:.2f} (theory {p:.2f})" for name, (mine, p) in powers.items()
    )
    return Finding(
        f"{claim}, as K → infinity: powers of K within {POWER:g} of theory's",
        "",
        f"{listed}, from K = {pair[0]['K']:,} to {pair[1]['K']:,}",
        decided(all(near), not all(near)),
        None,
    )


def _limits_of_a(*pair: Row) -> Finding:
    kappa = [row["cubes"] / row["time"] ** 0.5 for row in pair]
    return _limits(
        "regime a: mean and skewness vanish",
        {
            "mean": (*(_scaled_mean(row, "bias_exact") for row in pair), _power(*kappa, pair)),
            "skewness": (*(row["skewness_exact"] for row in pair), (pair[0]["alpha"] - 1) / 2),
        },
        pair,
    )


def _limits_of_b(*pair: Row) -> Finding:
    alpha = pair[0]["alpha"]
    return _limits(
        "regime b: the mean tends to κ μ, and skewness vanishes",
        {
            "mean / κ μ - 1": (*(_ratio(row, row["bias_exact"]) - 1 for row in pair), -alpha),
            "skewness": (*(row["skewness_exact"] for row in pair), (alpha - 1) / 2),
        },
        pair,
    )


def _limits_of_c(*pair: Row) -> Finding:
    alpha = pair[0]["alpha"]
    spread = [abs(_ratio(row, row["variance_exact"] ** 0.5)) for row in pair]
    return _limits(
        "regime c: the estimate's error times Γ / Γ3 tends to μ in probability",
        {
            "mean / μ - 1": (*(_ratio(row, row["bias_exact"]) - 1 for row in pair), -alpha),
            "standard deviation / μ": (*spread, (5 * alpha - 1) / 2),
        },
        pair,
    )


def _ratio(row: Row, value: float) -> float:
    """Return a value in units of the limit's bias."""
    return value * row["time"] / (LIMIT_BIAS * row["cubes"])


def _mean(row: Row, claim: str, score: float) -> Finding:
    value, error = (_ratio(row, row[name]) for name in ("bias", "bias_error"))
    spread = abs(_ratio(row, row["variance_exact"] ** 0.5))
    return Finding(
        f"regime {claim}, within a factor of {FACTOR:g}",
        f"{value:.3f} ± {abs(error):.3f} times at K = {row['K']:,}",
        f"{_ratio(row, row['bias_exact']):.3f} times there, one run ± {spread:.2g};"
        " 1 as K → infinity",
        inside(value, abs(error), 1 / FACTOR, FACTOR),
        score,
    )
