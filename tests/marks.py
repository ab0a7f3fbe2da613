"""Marks of parametrised tests, some of whose cases resemble others."""

import pytest


def briefly(cases, among):
    """Return parameters of a test: cases that are not `among` the quick ones are left to `long`."""
    return _left_to(pytest.mark.long, cases, among)


def rarely(cases, among):
    """Return parameters of a long test: cases that are not `among` these are left to `release`."""
    return _left_to(pytest.mark.release, cases, among)


def _left_to(mark, cases, among):
    found = []
    for case in cases:
        values = case if isinstance(case, tuple) else (case,)
        found.append(case if case in among else pytest.param(*values, marks=mark))
    return found
