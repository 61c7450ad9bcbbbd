"""What may be asked of a search, for Python and the console."""

from __future__ import annotations

TRIALS = 100
"""Settings that are tried."""
BATCH = 8
"""Trials that are proposed before any of them is run: more keep more workers busy, fewer learn more from each."""
MOST_TRIALS = 100_000
