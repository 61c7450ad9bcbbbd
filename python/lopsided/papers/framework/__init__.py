"""Contains the code that all papers share: the model of a paper, and the functions that run, judge, draw and report."""
