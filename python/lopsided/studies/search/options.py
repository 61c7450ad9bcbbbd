"""Defines the options of a search, for Python and the command line."""

from __future__ import annotations

TRIALS = 100
"""Default number of trials of a search."""
BATCH = 8
"""Number of trials per batch. A larger batch occupies more workers. With smaller batches, each proposal is based on
more results."""
MOST_TRIALS = 100_000
