"""Captures with known limits and bottlenecks, to score `lopsided analyze`."""
