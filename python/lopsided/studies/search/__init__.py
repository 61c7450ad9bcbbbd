"""Searches for the best settings under constraints. Most callers need only `search`."""

from __future__ import annotations

from lopsided.studies.search.goals import Goal, Limit, Metric
from lopsided.studies.search.result import Search, Trial
from lopsided.studies.search.space import Space
from lopsided.studies.search.study import Searcher, prepared, search

__all__ = ["Goal", "Limit", "Metric", "Search", "Searcher", "Space", "Trial", "prepared", "search"]
