"""Comparisons of the simulator with other stacks; not part of the installed package."""
