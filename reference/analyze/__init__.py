"""Records captures with known limits and bottlenecks, and scores `lopsided analyze` on these captures."""
