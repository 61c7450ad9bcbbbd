"""Compares the same flows in several worlds or runs."""

from lopsided.studies.compare.result import QUANTITIES, TOLERANCES, Comparison, Key, Row, Window
from lopsided.studies.compare.study import arms_against, compare, compare_arms, compare_runs, measure

__all__ = [
    "QUANTITIES",
    "TOLERANCES",
    "Comparison",
    "Key",
    "Row",
    "Window",
    "arms_against",
    "compare",
    "compare_arms",
    "compare_runs",
    "measure",
]
