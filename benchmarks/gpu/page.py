"""The page of what was measured on a GPU."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gpu.network import SGD

RESULTS = Path(__file__).parents[1] / "results" / "gpu"
Found = list[dict[str, Any]]


def of_precision(found: Found) -> list[str]:
    """Return the table of a regression by precision of products."""
    lines = ["| products | worst mean, in sd | worst sd | verdict |", "|---|---|---|---|"]
    for row in found:
        errors = f"{row['mean_error']:.2f} | {row['sd_error']:.1%}"
        lines.append(f"| {row['precision']} | {errors} | {row['sentence']} |")
    return lines


def of_network(found: Found) -> list[str]:
    """Return the table of steps on the network of 10^6 parameters."""
    lines = ["| step | products | µs | over SGD with the same products | over SGD with TF32 |"]
    lines.append("|---|---|---|---|---|")
    for row in found:
        name = row["side"] if row["side"] == SGD else f"`SGLD`, {row['side']}"
        ratios = f"{row['ratio']:.2f} | {row['ratio_to_tf32']:.2f}"
        lines.append(f"| {name} | {row['precision']} | {row['us']:.1f} | {ratios} |")
    return lines


def of_steps(found: Found) -> list[str]:
    """Return the table of steps on the logistic regression."""
    lines = ["| step | µs | over the loop by hand |", "|---|---|---|"]
    return [*lines, *(f"| {r['side']} | {r['us']:.1f} | {r['ratio']:.2f} |" for r in found)]


def of_replacements(found: Found) -> list[str]:
    """Return the table of code for CPUs on a GPU."""
    lines = ["| kernel | plain JAX, µs | code for CPUs, µs | ratio |", "|---|---|---|---|"]
    for row in found:
        us = f"{row['us']['plain']:.1f} | {row['us']['for CPUs']:.1f}"
        lines.append(f"| {row['case']} | {us} | {row['ratio']:.2f} |")
    return lines


def of_films(found: Found) -> list[str]:
    """Return the table of factorisations: ends of runs, and when they pass SGRRLD's best error."""
    ends = {row["method"]: row for row in found}  # the last of each method
    best = min((row["measured"] for row in found if row["method"] == "SGRRLD"), default=np.nan)
    lines = [
        "| method | seconds | of them warm-up | RMSE of test ratings | as good as SGRRLD after |"
    ]
    lines.append("|---|---|---|---|---|")
    for method, end in ends.items():
        passed = [r["seconds"] for r in found if r["method"] == method and r["measured"] <= best]
        when = f"{passed[0]:.3g} s" if passed else "not reached"
        errors = f"{end['measured']:.4f} ± {end['error']:.4f}"
        lines.append(
            f"| {method} | {end['seconds']:.3g} | {end['warmup']:.3g} | {errors} | {when} |"
        )
    exact = ", ".join({f"{row['exact']:.4f}" for row in found})
    counted = "Compilation counts for the untuned run alone."
    return [*lines, "", f"Gibbs sampler, exact: {exact}. {counted}"]


def of_lenet(found: Found) -> list[str]:
    """Return the table of LeNet's methods, and the differences from the ensemble."""
    scores = [row for row in found if row["kind"] == "score"]
    names = list(dict.fromkeys(row["what"] for row in scores))
    lines = [
        f"| method | steps | networks | {' | '.join(names)} |",
        "|---" * (3 + len(names)) + "|",
    ]
    for method in dict.fromkeys(row["method"] for row in scores):
        mine = {row["what"]: row for row in scores if row["method"] == method}
        first = mine[names[0]]
        values = " | ".join(f"{mine[name]['measured']:.4f}" for name in names)
        lines.append(f"| {method} | {first['steps']:,} | {first['networks']} | {values} |")
    lines.append("")
    smallest = _smallest_rates(found)
    lines += [
        "Methods trained side by side, each for as many steps as take 5 s alone. Validation images"
        f" chose the rate, the smallest of the candidates for {', '.join(smallest)}: smaller ones,"
        " which were not tried, may be better.",
        "",
    ]
    for row in found:
        if row["kind"] == "difference" and row["other"] == "ensemble":
            value = f"{row['measured']:+.4f} ± {row['error']:.4f}"
            if row["what"] in {"log score", "calibration error"}:
                lines.append(f"- {row['method']} minus the ensemble, {row['what']}: {value}")
    return lines


def _smallest_rates(found: Found) -> list[str]:
    """Return the methods whose chosen rate is the smallest that was tried."""
    tried = [row for row in found if row["kind"] == "final"]
    least: dict[str, float] = {}
    for row in tried:
        least[row["method"]] = min(row["rate"], least.get(row["method"], np.inf))
    return [r["method"] for r in tried if r["chosen"] and r["rate"] == least[r["method"]]]


def of_lenet_costs(found: Any) -> list[str]:
    """Return the table of a step's cost by method."""
    lines = ["| method | µs | over the point estimate's |", "|---|---|---|"]
    costs = dict(found).items()
    return [*lines, *(f"| {name} | {1e6 * s:.0f} | {s / found['MAP']:.2f} |" for name, s in costs)]


TABLES: dict[str, tuple[str, Callable[[Found], list[str]]]] = {
    "precision": ("A regression of 10⁶ rows whose posterior is known, untuned", of_precision),
    "network": ("A step on a network of 1,008,656 parameters, B = 128", of_network),
    "steps": ("A step of the logistic regression of figure 1", of_steps),
    "replacements": ("Code for CPUs on a GPU", of_replacements),
    "films": ("Factorisation of MovieLens' ratings", of_films),
    "films_large": ("Factorisation of simulated ratings of ML-1M's shape", of_films),
    "lenet_costs": ("A step of LeNet on Fashion-MNIST, B = 64", of_lenet_costs),
    "lenet": ("LeNet on Fashion-MNIST, 5 s for each method, compilation not counted", of_lenet),
}


def page(folder: Path = RESULTS) -> str:
    """Return all tables that were measured."""
    parts = []
    for name, (title, table) in TABLES.items():
        path = folder / f"{name}.json"
        if not path.exists():
            continue
        content = json.loads(path.read_text("utf-8"))
        versions = ", ".join(f"{key} {value}" for key, value in content["versions"].items())
        where = f"{content['device']}, {content['date']}, {versions}."
        parts.append("\n".join([f"### {title}", "", where, "", *table(content["found"]), ""]))
    return "\n".join(parts)


if __name__ == "__main__":
    RESULTS.with_suffix(".md").write_text(page(), "utf-8")
    print(page())
