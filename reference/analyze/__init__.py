"""Records captures of flows whose limits and bottlenecks are known, and scores `lopsided analyze` on these captures."""
