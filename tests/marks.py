"""Marks of parametrised tests, some of whose cases resemble others."""

import pytest


def briefly(cases, among):
    """Return parameters of a test: cases that are not `among` the quick ones are left to `long`."""
    found = []
    for case in cases:
        values = case if isinstance(case, tuple) else (case,)
        found.append(case if case in among else pytest.param(*values, marks=pytest.mark.long))
    return found
