"""Run the models: `python -m benchmarks.calibration [NAME ...]`.

Prints one line a model, and writes `calibration.json`, `calibration.md` and
`calibration_page.md`, the documentation's table, in `benchmarks/results/`.
Where names are given, the other models keep their rows.
"""

import argparse
import json
import os
import platform
from pathlib import Path

import jax
import numpyro

from benchmarks.calibration.problems import PROBLEMS
from benchmarks.calibration.run import WRONG, Row, measure

RESULTS = Path(__file__).parents[1] / "results"

COLUMNS = {
    "model": "{title}, B = {batch:,}",
    "worst mean error (sd)": "{mean_error:+.2f} {mean_of}",
    "worst sd ratio": "{sd_ratio:.2f} {sd_of}",
    "mean sd ratio": "{mean_sd_ratio:.3f}",
    "too far": "{too_far} of {comparisons}",
    "held-out error": "{held_out}",
    "smallest ESS": "{smallest_ess:,.0f} {ess_of}",
    "rounds": "{rounds}",
    "warm-up (s)": "{warmup_seconds:.0f}",
    "sampling (s)": "{sampling_seconds:.0f}",
    "total (s)": "{total_seconds:.0f}",
    "last verdict / run": "{verdict_share:.0%}",
    "effective draws / s": "{effective_per_second:.3g}",
    "NUTS (s, smallest ESS)": "{nuts}",
    "step size": "{step_size:.2g}",
    "gradient": "{gradient}",
    "verdict": "{verdict}",
    "outcome": "{outcome}",
}


PAGE = {
    "model": "{title}, B = {batch:,}",
    "outcome": "{outcome}",
    "worst mean error (sd)": "{mean_error:+.2f}<br>{mean_of}",
    "worst sd ratio": "{sd_ratio:.2f}<br>{sd_of}",
    "smallest ESS": "{smallest_ess:,.0f}",
    "seconds": "{total_seconds:.0f}",
    "NUTS: seconds, smallest ESS": "{nuts}",
}
"""The columns of the documentation's table."""


def cells(row: Row, columns: dict[str, str] = COLUMNS) -> list[str]:
    """Return a row as text."""
    held_out = "none"
    if "held_out_log_score" in row:
        held_out = "{held_out_log_score:+.4f} nats".format(**row)
        held_out += ", RMSE {held_out_rmse:+.1%}".format(**row) if row["held_out_rmse"] else ""
    if "same_class" in row:
        held_out += ", same class {same_class:.1%}, total variation {total_variation:.3f}".format(
            **row
        )
    filled = row | {"held_out": held_out, "comparisons": 2 * row["scalars"], "nuts": nuts(row)}
    return [pattern.format(**filled) for pattern in columns.values()]


def nuts(row: Row) -> str:
    """Return what the reference took, and in which other form of the model."""
    if row["nuts_seconds"] is None:
        return "none"
    form = f" ({row['nuts_form']})" if row["nuts_form"] else ""
    return "{nuts_seconds:.0f}, {nuts_smallest_ess:,.0f}".format(**row) + form


def line(row: Row) -> str:
    """Return what is printed of a model."""
    pairs = zip(COLUMNS, cells(row), strict=True)
    text = " | ".join(f"{name}: {value}" for name, value in pairs if value != "none")
    return text if row["outcome"] != WRONG else f"!!! {text} !!!"


def table(rows: list[Row]) -> str:
    """Return the table of all that was measured."""
    lines = [list(COLUMNS), ["---"] * len(COLUMNS)]
    for row in rows:
        *most, last = cells(row)
        lines.append([*most, f"**{last}**" if row["outcome"] == WRONG else last])
    return "".join(f"| {' | '.join(entries)} |\n" for entries in lines)


def page_table(rows: list[Row]) -> str:
    """Return the table of the documentation, the model's name and its size on two lines."""
    lines = [list(PAGE), ["---"] * len(PAGE)]
    for row in rows:
        first, *others = cells(row, PAGE)
        lines.append([first.replace(", N =", "<br>N =", 1), *others])
    return "".join(f"| {' | '.join(entries)} |\n" for entries in lines)


def write(rows: dict[str, Row]) -> None:
    """Write all files, the models in their order."""
    ordered = [rows[name] for name in PROBLEMS if name in rows]
    cores = os.cpu_count()
    found = {
        "models": {row["name"]: row for row in ordered},
        "machine": f"{platform.machine()}, {jax.devices()[0].device_kind}, {cores} cores",
        "versions": {"jax": jax.__version__, "numpyro": numpyro.__version__},
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "calibration.json").write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    (RESULTS / "calibration.md").write_text(table(ordered), encoding="utf-8")
    (RESULTS / "calibration_page.md").write_text(page_table(ordered), encoding="utf-8")


def main() -> None:
    """Run all models, or those named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PROBLEMS))
    names = parser.parse_args().names
    path = RESULTS / "calibration.json"
    keep = names and path.exists()
    rows = json.loads(path.read_text(encoding="utf-8"))["models"] if keep else {}
    # Rows of earlier versions lack columns.
    rows = {name: row for name, row in rows.items() if "verdict_share" in row}
    for name in names or PROBLEMS:
        rows[name] = measure(name)
        # Compiled programs of all models together would need more memory maps than Linux allows.
        jax.clear_caches()
        print(line(rows[name]), flush=True)
        write(rows)


if __name__ == "__main__":
    main()
