"""`report`: a run on one self-contained HTML page."""

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
"""Limit of the table's rows: a browser sorts so many without delay."""


def report(
    data: Any,
    path: str | Path = "report.html",
    *,
    var_names: Sequence[str] | None = None,
    title: str | None = None,
    max_entries: int = 6,
) -> Path:
    """Write a run as one HTML page: verdict, convergence, table, figures and settings.

    The page is self-contained: it includes its figures, its style and the script that sorts the
    table, and loads nothing. It has a layout for phones and a dark mode. With more than 1,000
    entries, the table shows those with the fewest effective draws and says so; the lines above the
    table refer to all entries. Writing takes about 5 seconds for every 1,000 entries.

    Args:
        data: result of `to_inference_data`, also after saving and loading.
        path: the file to write.
        var_names: sites to show; all by default.
        title: title of the page; by default it names the kernel.
        max_entries: number of entries with figures. They are those with the fewest effective draws.

    Returns:
        The path.

    Raises:
        ImportError: if Jinja2 or matplotlib is missing.
        TypeError: if `max_entries` is not an integer.
        ValueError: if a site is unknown, or there are fewer than 4 draws.
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
    """Return the entries by effective draws, fewest first; constant entries come last."""
    ess = table["ess_bulk"].mask(table["sd"] == 0).fillna(np.inf).to_dict()
    return sorted(chosen, key=lambda entry: ess[entry.label])


def _cells(row: Any) -> list[tuple[str, str]]:
    """Return each number twice: as the page's script sorts it, and as the page shows it."""
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
