"""Studies of several runs: sweeps, buffer sizing, fairness, comparisons of worlds, and probes of a real line."""
