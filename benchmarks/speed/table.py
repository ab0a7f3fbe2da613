"""The table of all figures, and its place in the README."""

from collections.abc import Iterable, Mapping
from typing import Any

COLUMNS = ("#", "what", "bar", "measured", "met or not")
BEGIN = "<!-- speed: begin -->"
END = "<!-- speed: end -->"


def rows(figures: Iterable[Mapping[str, Any]]) -> list[list[str]]:
    """Return a row for each part of each figure, in the order of their numbers."""
    found = []
    for figure in sorted(figures, key=lambda figure: figure["number"]):
        for part in figure["parts"]:
            shown = part.get("measured", "")
            if part["shown"]:
                shown += f" ({part['shown']})"
            status = f"**{part['status']}**" if part["status"] != "met" else "met"
            status += f": {part['note']}" if part["note"] else ""
            found.append([str(figure["number"]), part["what"], part["bar"], shown, status])
    return [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in found]


def table(figures: Iterable[Mapping[str, Any]]) -> str:
    """Return the table in Markdown."""
    lines = [list(COLUMNS), ["---"] * len(COLUMNS), *rows(figures)]
    return "".join(f"| {' | '.join(entries)} |\n" for entries in lines)


def caption(figures: Iterable[Mapping[str, Any]]) -> str:
    """Return when and where the figures were measured, one line for each day, machine and set."""
    places: dict[tuple[str, ...], list[int]] = {}
    for figure in sorted(figures, key=lambda figure: figure["number"]):
        versions = ", ".join(f"{name} {number}" for name, number in figure["versions"].items())
        place = (figure["date"], figure["device"], f"{figure['cores']} cores", versions)
        places.setdefault(place, []).append(figure["number"])
    said = []
    for place, numbers in places.items():
        whose = "" if len(places) == 1 else f" (figures {', '.join(map(str, numbers))})"
        said.append(f"Measured {', '.join(place)}{whose}.\n")
    return "".join(said)


def page(figures: Iterable[Mapping[str, Any]]) -> str:
    """Return caption and table."""
    figures = list(figures)
    return f"{caption(figures)}\n{table(figures)}"


def placed(text: str, content: str) -> str:
    """Return a text with what stands between its two markers replaced."""
    before, _, rest = text.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise ValueError(f"Expected {BEGIN} and {END} in the text.")
    return f"{before}{BEGIN}\n{content}{END}{after}"
