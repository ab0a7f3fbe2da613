"""Prints the table of the how-to."""

from benchmarks.staleness.table import table

print(table(), end="")
