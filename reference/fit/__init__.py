"""Scores `lopsided fit` on captures of Linux TCP over lines with known properties, and scores its prediction for
another congestion control."""
