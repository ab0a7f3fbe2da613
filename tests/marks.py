"""Marks of parametrised tests, some of whose cases resemble others."""

import pytest


def briefly(cases, among, long=None):
    """Return parameters of a test: cases that are not `among` the quick ones are left to `long`.

    Where the cases of `long` are given, all others are left to `release`.
    """

    def mark(case):
        if case in among:
            return None
        return pytest.mark.long if long is None or case in long else pytest.mark.release

    return _marked(cases, mark)


def rarely(cases, among):
    """Return parameters of a long test: cases that are not `among` these are left to `release`."""
    return _marked(cases, lambda case: None if case in among else pytest.mark.release)


def _marked(cases, mark):
    found = []
    for case in cases:
        values = case if isinstance(case, tuple) else (case,)
        of_case = mark(case)
        found.append(case if of_case is None else pytest.param(*values, marks=of_case))
    return found
