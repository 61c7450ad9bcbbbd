"""Scores `lopsided fit` on captures of known lines, and scores its predictions for another congestion control."""
