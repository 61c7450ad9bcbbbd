"""What studies say, in two or three sentences from their own numbers, each only where it applies.

A module for each kind of study; `lopsided.studies.verdict` speaks of a single run. Left out: why, which the tables, the
figures and `lopsided explain` tell.
"""
