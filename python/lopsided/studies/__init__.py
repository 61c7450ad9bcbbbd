"""What is learned from several runs: sweeps, buffer sizes, fairness, one world beside another, a probed path."""
