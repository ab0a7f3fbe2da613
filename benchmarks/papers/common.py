"""What every figure's script shares: rows of a table, slopes, errors, files."""

import csv
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

OUTPUT = Path(__file__).parent / "output"

Row = dict[str, Any]


def mean_and_error(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard error over independent chains, the first axis."""
    return values.mean(0), values.std(0, ddof=1) / np.sqrt(len(values))


def slope(x: np.ndarray, y: np.ndarray, error: np.ndarray) -> tuple[float, float]:
    """Return the slope of log y on log x by weighted least squares, and its standard error."""
    lx, ly = np.log(x), np.log(np.abs(y))
    weight = (np.abs(y) / np.maximum(error, 1e-12 * np.abs(y))) ** 2
    centred = lx - np.average(lx, weights=weight)
    information = np.sum(weight * centred**2)
    return float(np.sum(weight * centred * ly) / information), float(information**-0.5)


def worst_score(
    rows: Sequence[Row], name: str = "measured", exact: str = "exact", error: str = "error"
) -> float:
    """Return the largest |measured - exact| in standard errors."""
    # NumPy's maximum of numbers one of which is nan is nan, and nan agrees with nothing.
    return float(np.max([abs(row[name] - row[exact]) / row[error] for row in rows]))


def select(rows: Sequence[Row], **wanted: Any) -> list[Row]:
    """Return the rows that have these values."""
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def column(rows: Sequence[Row], name: str) -> np.ndarray:
    """Return one column."""
    return np.array([row[name] for row in rows])


def outcome(row: Row, name: str, digits: int) -> str:
    """Return a value with its standard error, or how many chains exploded, in words."""
    if row["exploded"]:
        return f"{row['exploded']} chains exploded"
    return f"{row[name]:.{digits}f} ± {row[f'{name}_error']:.{digits}f}"


def save(name: str, rows: Sequence[Row], figure: Any) -> None:
    """Write the table and the picture."""
    OUTPUT.mkdir(exist_ok=True)
    with (OUTPUT / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})
    figure.savefig(OUTPUT / f"{name}.png", dpi=100, metadata={"Software": None})
    plt.close(figure)


def load(name: str) -> list[Row]:
    """Return the rows of a table that was written."""

    def parsed(text: str) -> int | float | str:
        for kind in (int, float):
            with suppress(ValueError):
                return kind(text)
        return text

    with (OUTPUT / f"{name}.csv").open(newline="") as file:
        return [{key: parsed(text) for key, text in row.items()} for row in csv.DictReader(file)]
