"""Studies of several runs: sweeps, buffer sizes, fairness, comparisons of worlds, and probes of a real line."""
