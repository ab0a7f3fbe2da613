"""The page of what was measured on a GPU."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


TABLES: dict[str, tuple[str, Callable[[Found], list[str]]]] = {
    "precision": ("A regression of 10⁶ rows whose posterior is known, untuned", of_precision),
    "network": ("A step on a network of 1,008,656 parameters, B = 128", of_network),
    "steps": ("A step of the logistic regression of figure 1", of_steps),
    "replacements": ("Code for CPUs on a GPU", of_replacements),
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
