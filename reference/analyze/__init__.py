"""Captures with known limits and bottlenecks, on which `lopsided analyze` is scored."""
