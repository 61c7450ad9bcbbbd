"""Scores `lopsided fit` on captures of known lines, and scores the predictions of `fit` for another congestion
control."""
