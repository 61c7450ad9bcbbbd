"""The thesis's statements as functions that measure whether they hold.

A claim is judged on medians over the repetitions and again on each single one (the thesis made one run per setting).
"""

from lopsided.papers.merritt2010.claims import dynamics, performance, sizing

__all__ = ["dynamics", "performance", "sizing"]
