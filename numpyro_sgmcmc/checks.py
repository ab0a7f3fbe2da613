"""Checks of a user's arguments. Each error states what was expected, what was got and a remedy."""

import math
import sys
import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

INSIDE = ("numpyro_sgmcmc", "numpyro", "jax", "contextlib")
"""Top-level modules whose frames do not belong to the user's code."""


def check_number(name: str, value: Any, *, allow_zero: bool = False, remedy: str = "") -> float:
    """Return `value` as a float if it is a finite, positive real number.

    Raises:
        TypeError: if `value` is not a real number.
        ValueError: if it is NaN, infinite or negative, or if it is zero and zero is not allowed.
    """
    kind = "non-negative" if allow_zero else "positive"
    scalar: Any = value.item() if _is_scalar_array(value) else value
    if isinstance(scalar, bool) or not isinstance(scalar, Real):
        raise TypeError(f"Expected `{name}` to be a {kind} number; got {value!r}. {remedy}".strip())
    if not math.isfinite(scalar) or scalar < 0 or (scalar == 0 and not allow_zero):
        raise ValueError(
            f"Expected `{name}` to be a {kind}, finite number; got {value!r}. {remedy}".strip()
        )
    return float(scalar)


def check_count(name: str, value: Any) -> int:
    """Return `value` as an int if it is a positive integer.

    Raises:
        TypeError: if `value` is not an integer.
        ValueError: if it is smaller than one.
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"Expected `{name}` to be a positive integer; got {value!r}.")
    if value < 1:
        raise ValueError(f"Expected `{name}` to be a positive integer; got {value!r}.")
    return int(value)


def check_instance(name: str, value: Any, kind: type | tuple[type, ...], examples: str) -> Any:
    """Return `value` if it is an instance of `kind`.

    Raises:
        TypeError: if it is not, or if it is the class itself instead of an instance.
    """
    if isinstance(value, type):
        raise TypeError(
            f"Expected `{name}` to be an instance such as {examples}; got the class"
            f" {value.__name__}. Write {value.__name__}() with its arguments."
        )
    if not isinstance(value, kind):
        raise TypeError(f"Expected `{name}` to be an instance such as {examples}; got {value!r}.")
    return value


def check_callable(name: str, value: Any, examples: str) -> Callable:
    """Return `value` if it can be called.

    Raises:
        TypeError: if it cannot.
    """
    if not callable(value):
        raise TypeError(f"Expected `{name}` to be {examples}; got {value!r}.")
    return value


def warn_user(message: str) -> None:
    """Give a warning that points to the line of the user's code that led to it."""
    level, frame = 1, sys._getframe()
    while frame and frame.f_globals.get("__name__", "").split(".")[0] in INSIDE:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)


def _is_scalar_array(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "item") and value.shape == ()
