"""Studies of several runs."""
