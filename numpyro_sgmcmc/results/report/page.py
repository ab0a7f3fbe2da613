"""`report`: a run on one page that needs nothing beside it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from numpyro_sgmcmc.checks import check_count
from numpyro_sgmcmc.results.entries import Entry, attributes_of, entries
from numpyro_sgmcmc.results.report.figures import sections
from numpyro_sgmcmc.results.report.lines import convergence_line, how_it_was_run, verdict_line
from numpyro_sgmcmc.results.summary import table_of

TABLE_ROWS = 1_000
"""Entries that the table holds: a browser sorts them at once, and nobody reads more."""


def report(
    data: Any,
    path: str | Path = "report.html",
    *,
    var_names: Sequence[str] | None = None,
    title: str | None = None,
    max_entries: int = 6,
) -> Path:
    """Write a run as one HTML page: verdict, convergence, table, figures, how it was run.

    The page holds its figures, styles and the few lines of script that sort the table; nothing is
    loaded when it is viewed. It can be read on a telephone and in the dark. Of more than 1,000
    entries the table holds those with the fewest effective draws, and says so; the lines above it
    are of all. Some 5 seconds for every 1,000 entries.

    Args:
        data: what `to_inference_data` returned (saved and loaded, too).
        path: the file to write.
        var_names: sites to show; all by default.
        title: on top of the page; the kernel's name by default.
        max_entries: entries with figures of their own: those with the fewest effective draws.

    Returns:
        The path.

    Raises:
        ImportError: where Jinja2 or matplotlib is missing.
        TypeError: where `max_entries` is not an integer.
        ValueError: where a site is unknown, or there are fewer than 4 draws.
    """
    check_count("max_entries", max_entries)
    template = _template()
    chosen = entries(data, var_names)
    table = table_of(data, var_names=var_names)
    ranked = _worst_first(chosen, table)
    in_table = {entry.label for entry in ranked[:TABLE_ROWS]}
    shown = ranked[:max_entries]
    text = template.render(
        title=title or f"{attributes_of(data).get('kernel', 'A run')} on one page",
        verdict=verdict_line(data),
        convergence=convergence_line(data, table),
        columns=[str(column) for column in table.columns],
        rows=[(str(at), _cells(row)) for at, row in table.iterrows() if str(at) in in_table],
        sections=sections(data, shown),
        shown=len(shown),
        count=len(chosen),
        attributes=how_it_was_run(data),
    )
    path = Path(path)
    path.write_text(text, encoding="utf-8")
    return path


def _worst_first(chosen: list[Entry], table: Any) -> list[Entry]:
    """Return the entries by effective draws, fewest first; those that do not move come last."""
    ess = table["ess_bulk"].mask(table["sd"] == 0).fillna(np.inf).to_dict()
    return sorted(chosen, key=lambda entry: ess[entry.label])


def _cells(row: Any) -> list[tuple[str, str]]:
    """Return each number as the page's script sorts it, and as it is read."""
    numbers = [(str(name), float(value)) for name, value in row.items()]
    return [(repr(value).replace("inf", "Infinity"), _read(name, value)) for name, value in numbers]


def _read(column: str, value: float) -> str:
    if column.startswith("ess"):
        return f"{value:,.0f}"
    return f"{value:.3f}" if column == "r_hat" else f"{value:#.3g}".rstrip(".")


def _template() -> Any:
    try:
        import jinja2
    except ImportError as error:
        raise ImportError(
            "Expected Jinja2, which makes the page; it is not installed. Run"
            ' `pip install "numpyro-sgmcmc[report]"`.'
        ) from error
    loader = jinja2.PackageLoader("numpyro_sgmcmc.results.report", "templates")
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    return environment.get_template("page.html.j2")
