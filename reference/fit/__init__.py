"""Scores `lopsided fit` on captures of known lines. Also scores what the fitted scenarios predict for another
congestion control."""
