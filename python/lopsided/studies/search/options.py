"""The options of a search, for Python and the command line."""

from __future__ import annotations

TRIALS = 100
"""Default number of trials."""
BATCH = 8
"""Number of trials in a batch. A larger batch uses more workers; in a smaller batch each trial benefits from more
results."""
MOST_TRIALS = 100_000
