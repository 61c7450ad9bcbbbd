"""The options of a search, for Python and the command line."""

from __future__ import annotations

TRIALS = 100
"""Default number of trials."""
BATCH = 8
"""Trials in a batch: a larger batch uses more workers, a smaller batch learns more from each trial."""
MOST_TRIALS = 100_000
