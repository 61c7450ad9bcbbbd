"""The options of a search, for Python and the command line."""

from __future__ import annotations

TRIALS = 100
"""Default number of trials."""
BATCH = 8
"""Trials per batch. Larger batches use more workers; smaller ones learn from more results."""
MOST_TRIALS = 100_000
