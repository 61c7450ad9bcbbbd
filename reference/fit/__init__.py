"""Scores `lopsided fit` on captures of Linux TCP on known lines, and by a change of the congestion control."""
