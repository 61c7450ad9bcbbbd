"""Compares the simulator with other TCP stacks. This package is not installed."""
