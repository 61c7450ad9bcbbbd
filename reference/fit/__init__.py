"""Scores `lopsided fit` on captures of known lines, and its prediction for another congestion control."""
