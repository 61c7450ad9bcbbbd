"""A corpus of captures whose limiting factors and bottlenecks are known, to score `lopsided analyze`."""
